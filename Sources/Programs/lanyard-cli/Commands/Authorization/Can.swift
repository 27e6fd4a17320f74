import ArgumentParser
import CommandSupport
import JSONRPC

/// `lanyard can`
struct Can: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Decide whether an account may do something now.",
    discussion: """
      The agent decides by the policy and by the provider's last answer, also offline. The answer says why, until \
      when, and what would help. If the provider's answer is missing, the agent asks the provider: try again a moment \
      later, or give --wait.

      What is allowed counts as done: it takes a use of the capability's budget, if it has one. `lanyard policy explain` \
      takes none.

      EXIT CODES:
        0  allowed, or allowed to read
        6  denied
        7  denied until you confirm that it is you
        4  denied until you sign in again

      EXAMPLES:
        lanyard can workOrder.complete
        lanyard can workOrder.note work --sensitivity confidential
        lanyard can workOrder.view && show-the-order
      """)

  @Argument(help: "The capability, as the policy names it.", completion: .capabilities)
  var capability: String

  @Argument(help: "The account: an alias or an id.", completion: .accounts)
  var account: String?

  @Option(name: .long, help: "How sensitive the data is.")
  var sensitivity: Sensitivity?

  @Option(
    name: .long,
    help: ArgumentHelp("How long to wait for the provider's answer, if it is needed, at most 60.", valueName: "seconds")
  )
  var wait: Int?

  @OptionGroup var common: CommonOptions

  func validate() throws {
    if let wait, !(0...60).contains(wait) { throw ValidationError("--wait is 0 to 60 seconds.") }
  }

  func run() throws {
    let selection = try AccountSelection.choose(argument: account, option: common.account)
    var agent = try common.connect()
    let account = try selection.located(via: &agent)
    let decision = try agent.call(
      "authorization.check",
      params: { writer in
        writer.member("account", account)
        writer.member("capability", capability)
        writer.member("waitSeconds", wait)
        guard let sensitivity else { return }
        writer.key("context")
        writer.beginObject()
        writer.member("sensitivity", sensitivity.rawValue)
        writer.endObject()
      }, result: { DecisionInfo($0) })
    try decision.tell(json: common.json, via: &agent)
    try OtherAnswer.end(with: decision.status)
  }
}

/// The levels of sensitivity in a policy.
enum Sensitivity: String, CaseIterable, ExpressibleByArgument {
  case `public`, `internal`, confidential, restricted
}

/// Ends a command with an exit code after its answer was printed.
struct OtherAnswer: Error {
  let status: ExitStatus

  static func end(with status: ExitStatus) throws(OtherAnswer) {
    if status != .success { throw OtherAnswer(status: status) }
  }
}
