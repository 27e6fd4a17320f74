import ArgumentParser
import CommandSupport
import Glibc

/// The full program behind `lanyard`.
@main struct Lanyard: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "lanyard",
    abstract: "Sign in once; let every program of yours ask for tokens.",
    discussion: """
      Lanyard's agent holds the accounts that you wear and keeps their tokens fresh. This program signs you in and out, \
      says who you are here, and prints tokens. It starts the agent when it is needed.

      Which account a command speaks for: the one that you name (as argument or by --account), else LANYARD_ACCOUNT, \
      else the nearest .lanyard file upward, else the active one. `lanyard status` says which, and why.

      EXAMPLES:
        lanyard provider add idp --issuer https://idp.example --client-id my-app
        lanyard login idp --alias work
        curl -H "Authorization: Bearer $(lanyard token work)" https://api.example/me
        echo work > .lanyard            # this directory's account
        lanyard rpc agent.status        # any method of the agent, raw

      EXIT CODES:
        0 done, 1 other, 2 usage, 3 no agent, 4 sign in again, 5 offline or provider unavailable, 6 denied,
        7 step-up needed, 8 locked, 130 interrupted. Nothing but the answer goes to stdout.
      """,
    version: Version.text,
    groupedSubcommands: [
      CommandGroup(
        name: "Accounts", subcommands: [Login.self, Logout.self, Forget.self, List.self, Switch.self, Status.self]),
      CommandGroup(name: "Tokens", subcommands: [Token.self]),
      CommandGroup(name: "Authorization", subcommands: [Can.self, StepUp.self, PolicyCommand.self]),
      CommandGroup(
        name: "Agent",
        subcommands: [
          ProviderCommand.self, RevocationsCommand.self, GrantCommand.self, AuditCommand.self, Lock.self, Unlock.self,
          KeyCommand.self,
          RPC.self,
          Events.self,
          Backup.self, Restore.self, Doctor.self,
        ]),
      CommandGroup(name: "This program", subcommands: [Completion.self, Demo.self]),
    ])

  static func main() {
    let words = Array(CommandLine.arguments.dropFirst())
    Interruption.prepare()
    Process.exit(run(ArgumentOrder.commandFirst(words)))
  }

  private static func run(_ words: [String]) -> ExitStatus {
    do {
      var command = try parseAsRoot(words)
      try command.run()
      return .success
    } catch let answer as OtherAnswer {
      return answer.status
    } catch let failure as CommandFailure {
      Output.tell(failure, json: words.prefix { $0 != "--" }.contains("--json"))
      return failure.status
    } catch {
      // Of ArgumentParser: help and version are answers, everything else is a mistake in the command line.
      if exitCode(for: error) == .success {
        Output.answer(fullMessage(for: error))
        return .success
      }
      Output.note(fullMessage(for: error))
      return .usage
    }
  }
}
