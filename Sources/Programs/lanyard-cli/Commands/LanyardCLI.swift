import ArgumentParser
import CommandSupport
import Glibc
import JSONRPC

/// `lanyard-cli`: all commands of `lanyard`.
@main struct Lanyard: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "lanyard",
    abstract: "Sign in once. Your programs ask the agent for tokens.",
    discussion: """
      Lanyard's agent holds your accounts and keeps their tokens fresh. This program signs you in and out, manages the \
      agent, and prints tokens. It starts the agent when needed.

      A command uses the account that you name (as argument or with --account), else LANYARD_ACCOUNT, else the nearest \
      .lanyard file in this directory or above, else the active account. `lanyard status` shows which one, and why.

      EXAMPLES:
        lanyard provider add idp --issuer https://idp.example --client-id my-app
        lanyard login idp --alias work
        curl -H "Authorization: Bearer $(lanyard token work)" https://api.example/me
        echo work > .lanyard            # the account of this directory
        lanyard rpc agent.status        # any method of the agent

      EXIT CODES:
        0  done                     5  offline, or provider unavailable
        1  any other failure        6  denied
        2  mistake in the command   7  step-up needed
        3  no agent                 8  vault locked
        4  sign in again          130  interrupted

      Answers go to stdout, messages to stderr. More: `lanyard help exit-codes`, `lanyard help environment`, `lanyard \
      help json`, `lanyard man COMMAND`.
      """,
    version: Version.text,
    groupedSubcommands: [
      CommandGroup(
        name: "Accounts",
        subcommands: [
          Login.self, Logout.self, Forget.self, List.self, Switch.self, Rename.self, Rotate.self, Status.self,
          Prompt.self,
          AccountCommand.self,
          Trust.self,
          ImportCommand.self,
        ]),
      CommandGroup(
        name: "Tokens",
        subcommands: [
          Token.self, Request.self, OperationsCommand.self, Exec.self, ProxyCommand.self, SandboxCommand.self,
        ]),
      CommandGroup(
        name: "Tools",
        subcommands: [
          SetupCommand.self, CredentialCommand.self, RuleCommand.self, Resolve.self, MCPCommand.self,
        ]),
      CommandGroup(
        name: "Authorization", subcommands: [Can.self, ApprovalsCommand.self, StepUp.self, PolicyCommand.self]),
      CommandGroup(
        name: "Agent",
        subcommands: [
          UICommand.self,
          ProviderCommand.self, Stop.self, RevocationsCommand.self, GrantCommand.self, AuditCommand.self,
          ExportCommand.self,
          Lock.self,
          Unlock.self,
          KeyCommand.self,
          RPC.self,
          Events.self, Notify.self, MetricsCommand.self,
          Backup.self, Restore.self, Doctor.self, ServiceCommand.self,
        ]),
      CommandGroup(name: "This program", subcommands: [Completion.self, Man.self, Demo.self]),
    ])

  static func main() {
    let words = Array(CommandLine.arguments.dropFirst())
    if words.first == SandboxEntry.word { SandboxEntry.run(words.dropFirst()) }
    Interruption.prepare(json: asksForJSON(words))
    let options = words.prefix { $0 != "--" }
    if options.contains("--quiet") || options.contains("-q") { Output.beQuiet() }
    if let topic = HelpTopic.asked(in: words) {
      Output.answer(topic.text)
      Process.exit(.success)
    }
    if words.first == "help" {
      let named = NamedCommand(in: Array(words.dropFirst()), of: Lanyard.self)
      if named.isUnknown {
        Output.tell(named.mistake(""), json: false)
        Process.exit(.usage)
      }
    }
    let ordered = ArgumentOrder.commandFirst(words)
    Process.exit(run(ordered), json: asksForJSON(ordered))
  }

  private static func run(_ words: [String]) -> ExitStatus {
    var provider: String?
    do {
      var command = try parseAsRoot(words)
      provider = (command as? Login)?.provider
      if command is any ShowingCommand { CommandFailure.tellNoChanges() }
      try command.run()
      return .success
    } catch let answer as OtherAnswer {
      return answer.status
    } catch let failure as CommandFailure {
      Output.tell(failure, json: asksForJSON(words))
      if words.prefix(while: { $0 != "--" }).contains("--verbose"), !asksForJSON(words) {
        tellRefusals(after: failure, by: provider)
      }
      return failure.status
    } catch {
      // ArgumentParser throws help and version texts, too: these are answers. The rest are mistakes.
      if exitCode(for: error) == .success {
        Output.answer(HelpText.fitted(fullMessage(for: error)))
        return .success
      }
      tell(mistake: error, in: words)
      return .usage
    }
  }

  /// What the provider that the failure is about said when it refused last: the agent keeps it in memory. `provider`: the
  /// one that the command names, where the failure names no account.
  private static func tellRefusals(after failure: CommandFailure, by provider: String?) {
    guard failure.wire != nil, failure.account != nil || provider != nil,
      var agent = try? Agent.connect(mayStart: false)
    else { return }
    var provider = provider
    if let account = failure.account {
      try? agent.call("account.get", params: { $0.member("account", account) }) { found in
        provider = found["provider"]?.string
      }
    }
    guard let provider else { return }
    try? agent.call("agent.diagnose", params: { $0.member("provider", provider) }) { result in
      for finding in result["findings"]?.elements.map({ Finding($0) }) ?? [] where finding.check == "providerRefusal" {
        Output.instruction("  " + Text.shown(finding.message))
      }
    }
  }

  private static func asksForJSON(_ words: [String]) -> Bool { words.prefix { $0 != "--" }.contains("--json") }

  /// Reports a mistake in the command line as every other failure: a sentence, and the command that helps.
  private static func tell(mistake error: any Error, in words: [String]) {
    let failure = NamedCommand(in: words, of: Lanyard.self).mistake(message(for: error))
    Output.tell(failure, json: asksForJSON(words))
  }
}
