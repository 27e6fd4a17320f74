import ArgumentParser
import CommandSupport
import JSONRPC

/// `lanyard resolve`
struct Resolve: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Show which account answers for a URL, and why.",
    discussion: """
      EXAMPLES:
        lanyard resolve https://github.com/acme/app.git
        lanyard resolve https://registry.acme.example --user alice
        lanyard resolve "$(git remote get-url origin)"
      """)

  @Argument(help: "The URL that a tool asks for, or an address of https as git has it.")
  var url: String

  @Option(help: "The user name that the tool knows.")
  var user: String?

  @OptionGroup var common: CommonOptions

  func run() throws {
    let address = try ResourceAddress(typed: url)
    var agent = try common.connect()
    let found: ResourceCredential.Choice
    do throws(CommandFailure) {
      found = try ResourceCredential.choice(for: address, user: user, named: common.account, via: &agent)
    } catch {
      guard error.name == "notFound" else { throw error }
      throw ResourceCredential.noneAnswers(for: address, named: common.account, via: &agent)
    }
    if common.json { return Output.answer(json: found.json) }
    let account = try AccountInfo.named(found.account, via: &agent)
    let pattern = try found.rule.flatMap { (rule) throws(CommandFailure) in try Self.pattern(of: rule, via: &agent) }
    Output.answer(text: Text.shown("\(account.label): \(Self.reason(found.because, pattern ?? found.rule))"))
  }

  private static func pattern(
    of rule: String, via agent: inout AgentConnection
  ) throws(CommandFailure) -> String? {
    try agent.call("rule.list") { (result) throws(CommandFailure) in
      for known in result["rules"].map({ Array($0.elements) }) ?? [] where known["rule"]?.string == rule {
        return known["pattern"]?.string
      }
      return nil
    }
  }

  private static func reason(_ because: String, _ rule: String?) -> String {
    switch because {
    case "rule": "the rule \(rule ?? "") covers this URL"
    case "selector": "it is named, and may answer for this URL"
    case "preferred": "LANYARD_ACCOUNT names it, and its provider lists this origin"
    case "directory": "a .lanyard file names it, and its provider lists this origin"
    case "active": "it is the active account, and its provider lists this origin"
    case "issuer": "it is the only account whose provider lists this origin"
    default: because
    }
  }
}
