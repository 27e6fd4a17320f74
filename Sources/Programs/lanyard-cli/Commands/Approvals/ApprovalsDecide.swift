import ArgumentParser
import CommandSupport
import JSONRPC

/// `lanyard approvals allow`
struct ApprovalsAllow: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "allow", abstract: "Say yes to what waits.",
    discussion: """
      A request is sent then, once. With --session, later requests of the same capability, account and grant are sent \
      without asking, until the grant or the agent ends. Where the policy wants a step-up for this, your PIN is asked \
      for first.

      A wish for more is added to the grant: until --expires, else until the grant ends. It never goes beyond the origins \
      that the provider allows.

      EXAMPLES:
        lanyard approvals allow ID
        lanyard approvals allow ID --session
        lanyard approvals allow ID --expires 8h
      """)

  @Argument(help: "What waits, as `lanyard approvals` shows it.", completion: .waitingDecisions)
  var id: String

  @Flag(name: .long, help: "Also such requests from now on: this capability, account and grant.")
  var session = false

  @Option(
    name: .customLong("expires"),
    help: ArgumentHelp("How long more access lasts: 30m, 8h, 7d.", valueName: "duration"))
  var expires: String?

  @Flag(name: .long, help: "Let the agent ask for the PIN of a step-up with pinentry.")
  var pinentry = false

  @OptionGroup var common: CommonOptions

  func validate() throws {
    if let expires, (DurationArgument.seconds(expires) ?? 0) < 1 {
      throw ValidationError("--expires is a duration such as 30m, 8h or 7d.")
    }
    if session, expires != nil {
      throw ValidationError("--session is for a request, and --expires for more access. Give one.")
    }
  }

  func run() throws {
    try ApprovalsDeny.decide(id, common, pinentry: pinentry) { kind throws(CommandFailure) in
      switch kind {
      case .request:
        guard expires == nil else {
          throw .usage("\(id) is a request, which is sent once. Nothing was decided. Leave out --expires.")
        }
        return session ? .allowSession : .allow
      case .access:
        guard !session else {
          throw .usage("\(id) asks for more access. Nothing was decided. Give --expires instead of --session.")
        }
        return expires.flatMap { DurationArgument.seconds($0) }.map { .allowFor(seconds: $0) } ?? .allow
      }
    }
  }
}

/// `lanyard approvals deny`
struct ApprovalsDeny: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "deny", abstract: "Say no to what waits.",
    discussion: "The program is told at once. The same request is then refused for a minute without asking you.")

  @Argument(help: "What waits, as `lanyard approvals` shows it.", completion: .waitingDecisions)
  var id: String

  @OptionGroup var common: CommonOptions

  func run() throws {
    try Self.decide(id, common) { _ in .deny }
  }

  /// Finds what waits under `id`, and gives the verdict for its kind.
  static func decide(
    _ id: String, _ common: CommonOptions, pinentry: Bool = false,
    verdict: (WaitingDecision.Kind) throws(CommandFailure) -> Verdict
  ) throws(CommandFailure) {
    var agent = try common.connect()
    let waiting = try WaitingDecisions(via: &agent)
    guard let decision = waiting.named(id) else { throw .notWaiting(id, among: waiting.all) }
    let verdict = try verdict(decision.kind)
    let answer = try verdict.give(decision, pinentry: pinentry, via: &agent)
    if common.json { return Output.answer(json: answer) }
    Output.done(verdict.words(for: decision.kind))
  }
}
