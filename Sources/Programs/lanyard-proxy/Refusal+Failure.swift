import CommandSupport
import JSONRPC
import ProxyCore

extension Refusal {
  /// The name of a request that the program gave up before the agent answered.
  static let withdrawn = CommandFailure.withdrawn.name

  /// The agent's failure as the program gets it: what happened, and the command for a person.
  init(_ failure: CommandFailure, _ grant: ProxyScope.Grant?) {
    let details = FailureDetails(failure)
    let missing = failure.reason.flatMap(MissingApproval.init)
    let hints = failure.hints.map { " " + $0 }.joined()
    let sentence = Text.shown(failure.message + hints)
    switch failure.name {
    case "denied" where missing != nil:
      let told = [missing?.message, "Nothing was sent.", missing?.hint].compactMap(\.self)
      self.init(403, missing?.rawValue ?? failure.name, told.joined(separator: " "))
    case "denied" where details.reason == "budgetExceeded":
      let seconds = details.retryAfterMilliseconds.map { max(1, ($0 + 999) / 1000) }
      let wait = seconds.map { " Try again in \($0) s." } ?? ""
      self.init(
        429, "budgetExceeded", "The budget for such requests is used up.\(wait) Nothing was sent.",
        retryAfterSeconds: seconds)
    case "denied":
      let reason = details.reason.map { " (\(Text.words($0)))" } ?? ""
      self.init(403, failure.name, "The policy denies this request\(reason). Nothing was sent.")
    case "stepUpRequired":
      self.init(
        403, failure.name,
        "A person has to confirm this request first: `lanyard step-up`, or the agent's prompt. Nothing was sent.")
    case "notPermitted":
      let subject = grant.map { "The grant \(Text.shown($0.client))" } ?? "The grant of this proxy"
      self.init(
        403, failure.name,
        "\(subject) does not cover this request: `lanyard grant list` shows its accounts and origins. An AI agent's grant only reads (GET and HEAD without a body, no WebSocket), unless the policy names more. Nothing was sent."
      )
    case "originNotAllowed", "notFound", "accountNotFound", "accountAmbiguous", "signedOut", "reauthenticationRequired",
      "interactionRequired", "dataLocked", "accountLocked", "stepUpLocked", "providerMisconfigured", "untrustedServer",
      "usage":
      self.init(403, failure.name, sentence)
    case "agentLocked", "offline", "providerUnavailable", "noAgent", "wentAway", "agentSilent", "unsafeSocket",
      "tooManyConnections", "overloaded", "busy", "shuttingDown":
      self.init(503, failure.name, sentence)
    case "timedOut": self.init(504, failure.name, sentence)
    case "invalidParams" where details.path != "/url" && details.path != "/method":
      self.init(
        502, "otherVersion",
        "The agent does not understand this proxy: one of them is older. `lanyard stop` ends the agent, and the next command starts the new one. Nothing was sent."
      )
    case "invalidParams":
      self.init(
        400, "ambiguousRequest",
        "The method or the URL can't be judged: servers might read it in two ways. Nothing was sent.")
    default: self.init(502, failure.name, sentence)
    }
  }
}

/// Members of `data` of an error of the agent.
private struct FailureDetails {
  /// `decision.reason`
  var reason: String?
  var retryAfterMilliseconds: Int64?
  /// Of the parameter that the agent does not take.
  var path: String?

  init(_ failure: CommandFailure) {
    failure.wireError { error in
      reason = error["data"]?["decision"]?["reason"]?.string
      retryAfterMilliseconds = error["data"]?["retryAfterMs"]?.integer
      path = error["data"]?["path"]?.string
    }
  }
}
