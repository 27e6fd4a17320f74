import CommandSupport
import JSONRPC

/// A revocation that waits, for people.
struct RevocationInfo {
  let id: String
  /// The provider was reached and refuses.
  let isRefused: Bool
  let nextAttempt: Moment?
  /// Why the last attempt failed. After each of them the token may still be valid.
  let trouble: String?
  private let account, issuer: String
  private let attempts: Int64
  private let end: Moment?

  private init(_ node: JSONNode) {
    func word(_ name: StaticString) -> String { node[name]?.string ?? "-" }
    (id, account, issuer) = (word("id"), word("accountLabel"), word("issuer"))
    let error = node["lastError"]?["name"]?.string
    isRefused = error == "providerMisconfigured"
    trouble = error.map(Self.sentence)
    attempts = node["attempts"]?.integer ?? 0
    nextAttempt = node["nextAttemptAt"]?.string.flatMap { Moment($0) }
    end = node["expiresAt"]?.string.flatMap { Moment($0) }
  }

  /// Those of an answer of the agent.
  static func all(_ result: JSONNode) -> [RevocationInfo] {
    (result["revocations"].map { Array($0.elements) } ?? []).map { RevocationInfo($0) }
  }

  /// The account and the provider.
  var name: String { "\(account) at \(issuer)" }

  /// What is to be revoked, when it is sent, and what went wrong. On a screen the id has a line of its own if it has to.
  var lines: [String] {
    let (id, what) = (Text.shown(id), Text.shown(name))
    let first = "\(id)  \(what)"
    let isLong = Terminal.showsAnswers && TextWidth.of(first) > Terminal.answerColumns
    return (isLong ? [id, "  \(what)"] : [first]) + ["  \(Text.shown(plan))"]
      + (trouble.map { ["  \(Text.shown($0))"] } ?? [])
  }

  /// When the agent tries it again by itself: "in 5 min", "now".
  var next: String? { nextAttempt.map { $0 > .now ? $0.relative : "now" } }

  /// Attempts so far, the next attempt and the end. What is due is on its way: the agent waits for nothing then.
  private var plan: String {
    let end = end.map { ", given up \($0.relative)" } ?? ""
    let isDue = nextAttempt.map { $0 <= .now } ?? false
    guard attempts > 0 else {
      guard let nextAttempt, !isDue else { return "being sent\(end)" }
      return "not tried yet, sent \(nextAttempt.relative) or when the network changes\(end)"
    }
    let when = isDue ? "being sent" : nextAttempt.map { "again \($0.relative)" } ?? "not again by itself"
    return "tried \(attempts == 1 ? "once" : "\(attempts) times"), \(when)\(end)"
  }

  private static func sentence(_ error: String) -> String {
    switch error {
    case "offline": "The provider could not be reached."
    case "providerUnavailable": "The provider could not revoke it now; until then the token stays valid."
    case "providerMisconfigured": "The provider refuses this client; the token may stay valid until it expires."
    default: error
    }
  }
}
