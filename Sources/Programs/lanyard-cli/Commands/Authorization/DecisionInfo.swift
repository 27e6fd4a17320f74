import CommandSupport
import JSONRPC

/// A decision of the agent, and its text for people.
struct DecisionInfo {
  struct Failure {
    let reason: String
    let message: String
  }

  let effect: String
  let capability: String
  let reason: String
  let failures: [Failure]
  let obligations: [String]
  let remedies: [String]
  let validUntil: Moment?
  /// The time of the decision, on the clock of `validUntil`.
  let now: Moment
  let policyName: String
  let policyVersion: Int64
  let clockIsSuspect: Bool
  let account: String
  /// The agent's JSON, for `--json`.
  let json: String

  init(_ node: JSONNode) {
    effect = node["effect"]?.string ?? ""
    capability = node["capability"]?.string ?? ""
    reason = node["reason"]?.string ?? ""
    let failed = node["failed"].map { Array($0.elements) } ?? []
    let isSignedOut = failed.contains { $0["reason"]?.string == "signedOut" }
    let isTimeTold = node["time"]?["basis"]?.string == "server"
    failures = failed.map { failure in
      let reason = failure["reason"]?.string ?? ""
      let message = ReasonMessages.sentence(
        reason, ReasonFacts(failure["facts"]), isSignedOut: isSignedOut, isTimeTold: isTimeTold)
      return Failure(reason: reason, message: message)
    }
    obligations = node["obligations"]?.elements.compactMap(\.string) ?? []
    remedies = node["remedies"]?.elements.compactMap(\.string) ?? []
    validUntil = node["validUntil"]?.string.flatMap { Moment($0) }
    now = node["time"]?["now"]?.string.flatMap { Moment($0) } ?? .now
    policyName = node["policy"]?["name"]?.string ?? ""
    policyVersion = node["policy"]?["version"]?.integer ?? 0
    clockIsSuspect = node["time"]?["clock"]?.string == "suspect"
    account = node["account"]?.string ?? ""
    json = node.text
  }

  /// Prints the decision: as JSON, or as text.
  func tell(json isJSON: Bool, via agent: inout AgentConnection) throws(CommandFailure) {
    if isJSON { return Output.answer(json: json) }
    let named = try AccountInfo.named(account, via: &agent)
    for line in lines(for: named) { Output.answer(line) }
  }

  /// The exit code; a denial names the first step that would help.
  var status: ExitStatus {
    if effect == "allow" || effect == "readOnly" { return .success }
    switch reason {
    case "stepUpRequired": return .stepUpNeeded
    case "signedOut", "reauthenticationRequired": return .signInAgain
    default: return .denied
    }
  }

  /// No policy applies to the account, so nothing is allowed.
  private var hasNoPolicy: Bool { policyName.isEmpty && reason == "unknownCapability" }

  /// The name may be mistyped, or the person's own policy may lack it.
  private var whereToLook: [String] {
    guard failures.contains(where: { $0.reason == "unknownCapability" }) else { return [] }
    return ["Check the name: `lanyard policy show \(ErrorMessages.shellWord(policyName))` shows those that it knows."]
  }

  private func help(for account: AccountInfo) -> [String] {
    guard hasNoPolicy else {
      // Where the provider can't be reached, this alone helps.
      let clock = failures.contains { $0.reason == "clockSuspect" } ? ["Set the clock of this machine."] : []
      return clock + whereToLook + remedies.map { ReasonMessages.remedy($0, of: account) }
    }
    return [
      "Set one: `lanyard policy set FILE --provider PROVIDER`. A policy named `default` applies to all other providers."
    ] + remedies.filter { $0 != "administrator" }.map { ReasonMessages.remedy($0, of: account) }
  }

  /// The verdict, the reasons, the end of validity and the remedies.
  func lines(for account: AccountInfo) -> [String] {
    let who = Text.shown(account.label)
    let what = Text.shown(capability)
    let verdict =
      switch effect {
      case "allow": Style.good("Allowed") + ": \(who) may do \(what)."
      case "readOnly": Style.notice("Read only") + ": \(who) may read, but not write, with \(what)."
      default: Style.bad("Denied") + ": \(who) may not do \(what) now."
      }
    var facts = Facts()
    for (number, failure) in failures.enumerated() {
      let isOfPolicy = hasNoPolicy && failure.reason == "unknownCapability"
      facts.add(
        number == 0 ? "Why" : " ",
        isOfPolicy ? "There is no policy for this account, and without one nothing is allowed." : failure.message)
    }
    if let validUntil {
      facts.add("Until", "\(validUntil.local) (\(validUntil.relative(to: now))), if nothing changes before")
    }
    if !obligations.isEmpty { facts.add("Do", obligations.joined(separator: ", ")) }
    for (number, remedy) in help(for: account).enumerated() { facts.add(number == 0 ? "Help" : " ", remedy) }
    if clockIsSuspect, reason != "clockSuspect" {
      facts.add("Clock", "This machine's clock was set back, so time limits count from the time that was known.")
    }
    if policyVersion > 0 { facts.add("Policy", "\(policyName), version \(policyVersion)") }
    return [verdict] + facts.lines(indent: 2)
  }
}
