import AgentModel
import CommandSupport
import JSONRPC

/// An operation, for people.
struct OperationInfo {
  private let name, status, capability: String
  private let label, reason, denial, lastError, lastReason: String?
  private let method, url: String?
  private let attempts: Int64
  private let answerStatus: Int64?
  private let wantsStepUp: Bool
  private let enqueuedAt, nextAttemptAt: Moment?
  /// The time of the provider, on which these stand.
  private let now: Moment
  /// The account as commands take it.
  private let account: String
  /// The command that lists the origin of its server at the provider.
  private let listing: String?

  init(_ node: JSONNode, of owner: OperationOwner) {
    account = ErrorMessages.shellWord(owner.account?.label ?? node["account"]?.string ?? "@active")
    now = owner.now
    let origin = node["request"]?["url"]?.string.flatMap { HTTPURL($0)?.origin }
    listing = origin.flatMap { owner.allowance?.command(addingOrigin: $0) }
    name = node["operation"]?.string ?? "-"
    status = node["status"]?.string ?? "-"
    capability = node["capability"]?.string ?? "-"
    label = node["label"]?.string
    reason = node["rejection"]?["reason"]?.string
    denial = node["rejection"]?["decision"]?["reason"]?.string
    lastError = node["lastError"]?["name"]?.string
    lastReason = node["lastError"]?["reason"]?.string
    method = node["request"]?["method"]?.string
    url = node["request"]?["url"]?.string
    attempts = node["attempts"]?.integer ?? 0
    answerStatus = node["response"]?["status"]?.integer
    wantsStepUp = node["decision"]?["reason"]?.string == "stepUpRequired"
    enqueuedAt = node["enqueuedAt"]?.string.flatMap { Moment($0) }
    nextAttemptAt = node["nextAttemptAt"]?.string.flatMap { Moment($0) }
  }

  /// Two or three lines.
  func show() {
    let title = label.map { "\(capability): \($0)" } ?? capability
    Output.answer(text: Text.shown("\(name)  \(title)"))
    if let method, let url { Output.answer(text: Text.shown("  \(method) \(url)")) }
    Output.answer(text: Text.shown("  \(situation)"))
  }

  private var situation: String {
    let when = enqueuedAt.map { ", queued \($0.relative(to: now))" } ?? ""
    return meaning + (attempts > 1 ? ", tried \(attempts) times" : "") + when
  }

  private var meaning: String {
    switch status {
    case "queued":
      if let nextAttemptAt, nextAttemptAt > now { return "waits, tried again \(nextAttemptAt.relative(to: now))" }
      return holdUp
    case "ready": return "waits for a program that delivers it"
    case "sending": return "is being delivered"
    case "done": return "delivered"
    case "needsInteraction":
      return wantsStepUp
        ? "waits until you prove that it is you (`lanyard step-up \(account)`)"
        : "waits until you sign in again (`lanyard login --account \(account)`)"
    case "unknown":
      return nextAttemptAt == nil
        ? "sent, and no answer came: it may have been carried out; `lanyard operations retry \(name) -u \(account)` sends it again"
        : "sent, and no answer came; it is sent again"
    case "orphaned": return "never delivered: its account was signed out and erased"
    case "rejected": return rejection
    default: return status
    }
  }

  private var holdUp: String {
    switch lastError {
    case nil: "waits for its turn"
    case "denied" where lastReason == "clockSuspect":
      "waits until this machine's clock is right, or the provider tells the time"
    case "denied" where lastReason == "budgetExceeded": "waits until the policy's hourly budget allows it"
    case "denied": "waits until the provider confirms the account again"
    case "accountLocked": "waits: the provider has disabled the account"
    default: "waits for the network, or for the server" + (lastReason.map { " (\(Text.words($0)))" } ?? "")
    }
  }

  private var rejection: String {
    switch reason {
    case "policy" where lastError == "originNotAllowed":
      "rejected: its server is no longer among the provider's allowed origins"
        + (listing.map { " (`\($0)` adds it)" } ?? "")
    case "policy": "rejected: the policy no longer allowed it" + (denial.map { " (\($0))" } ?? "")
    case "conflict": "rejected: the server has a newer state (status \(answerStatus ?? 0))"
    case "expired": "rejected: it expired before it could be sent"
    default: "rejected by the server" + (answerStatus.map { " (status \($0))" } ?? "")
    }
  }
}
