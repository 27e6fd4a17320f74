import ArgumentParser
import CommandSupport
import JSONRPC

/// `lanyard policy explain`
struct PolicyExplain: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "explain",
    abstract: "Show the decision at another time or in another state, without any effect.",
    discussion: """
      Exit codes are those of `lanyard can`.

      EXAMPLES:
        lanyard policy explain workOrder.note --offline --at +49h
        lanyard policy explain workOrder.view --state reauthenticationRequired
      """)

  @Argument(help: "The capability, as the policy names it.", completion: .capabilities)
  var capability: String

  @Argument(help: "The account: an alias or an id.", completion: .accounts)
  var account: String?

  @Option(name: .long, help: "The time: +90s, +5m, +49h, +8d from now, or 2030-01-01T00:00:00Z.")
  var at: LaterMoment?

  @Flag(inversion: .prefixedNo, exclusivity: .exclusive, help: "Assume that the provider can or can't be reached.")
  var offline: Bool?

  @Option(name: .long, help: "Assume this state of the account.")
  var state: AccountStateWord?

  @Flag(name: .long, help: "Assume that you have just confirmed that it is you.")
  var stepUp = false

  @OptionGroup var common: CommonOptions

  func run() throws {
    let selection = try AccountSelection.choose(argument: account, option: common.account)
    var agent = try common.connect()
    let account = try selection.located(via: &agent)
    let moment = at?.moment(for: account, via: &agent)
    let decision = try agent.call(
      "policy.explain",
      params: { writer in
        writer.member("account", account)
        writer.member("capability", capability)
        writer.member("at", moment?.rfc3339)
        guard offline != nil || state != nil || stepUp else { return }
        writer.key("assume")
        writer.beginObject()
        if let offline { writer.member("online", !offline) }
        writer.member("state", state?.rawValue)
        if stepUp { writer.member("stepUp", true) }
        writer.endObject()
      }, result: { DecisionInfo($0) })
    try decision.tell(json: common.json, via: &agent)
    try OtherAnswer.end(with: decision.status)
  }
}

enum AccountStateWord: String, CaseIterable, ExpressibleByArgument {
  case active, offlineStale, interactionRequired, reauthenticationRequired, locked, signedOut
}

/// An instant, or a duration from now.
enum LaterMoment: ExpressibleByArgument {
  case instant(Moment)
  case fromNow(seconds: Int)

  init?(argument: String) {
    if let moment = Moment(argument) {
      self = .instant(moment)
    } else if argument.first == "+", let length = DurationArgument.seconds(argument.dropFirst()) {
      self = .fromNow(seconds: length)
    } else {
      return nil
    }
  }

  /// A duration counts from the time of the account's provider, by which the agent decides.
  func moment(for account: String, via agent: inout AgentConnection) -> Moment {
    switch self {
    case .instant(let moment): moment
    case .fromNow(let seconds): Moment(seconds: SessionInfo.now(of: account, via: &agent).seconds + seconds)
    }
  }
}
