import CommandSupport
import JSONRPC

/// The facts of a failed check: the numbers and names that the agent compared.
struct ReasonFacts {
  private let numbers: [String: Int]
  private let names: [String: [String]]

  init(_ facts: JSONNode?) {
    var numbers: [String: Int] = [:]
    var names: [String: [String]] = [:]
    for (key, value) in facts?.members.map({ ($0.key, $0.value) }) ?? [] {
      guard let name = key.string else { continue }
      switch value.kind {
      case .number: numbers[name] = value.integer.map { Int($0) }
      case .string: names[name] = value.string.map { [$0] }
      case .array: names[name] = value.elements.compactMap { $0.string }
      default: break
      }
    }
    self.numbers = numbers
    self.names = names
  }

  func span(_ name: String) -> String? { numbers[name].map(Moment.spelledOut) }
  func number(_ name: String) -> Int? { numbers[name] }
  func list(_ name: String) -> String? {
    names[name].flatMap { $0.isEmpty ? nil : $0.joined(separator: ", ") }
  }
}

/// The reasons and remedies of decisions (docs/offline.md, Decisions) as sentences.
enum ReasonMessages {
  /// - Parameters:
  ///   - isSignedOut: what the provider told of the account can't be read, or is gone.
  ///   - isTimeTold: the provider told its time since the boot.
  static func sentence(_ reason: String, _ facts: ReasonFacts, isSignedOut: Bool, isTimeTold: Bool) -> String {
    switch reason {
    case "unknownCapability": "The policy does not name this capability, so it is not allowed."
    case "accountLocked": "The provider has disabled this account."
    case "signedOut": "The account is signed out."
    case "reauthenticationRequired": sessionOver(facts)
    case "neverAuthenticated": "The provider has never confirmed this account."
    case "clockSuspect": clockSuspect(facts, isTimeTold: isTimeTold)
    case "snapshotMissing" where isSignedOut: "Its rights can't be read while it is signed out."
    case "snapshotMissing":
      "The provider has not yet sent the \(facts.list("missing") ?? "rights") of this account."
    case "snapshotTooOld": snapshotTooOld(facts)
    case "missingRole": missingRole(facts)
    case "missingScope": missing("scope", facts)
    case "missingEntitlement": missing("entitlement", facts)
    case "forbidden": forbidden(facts)
    case "freshTokenRequired" where facts.list("token") != nil:
      "This needs an access token that has not expired, and there is none now."
    case "onlineRequired", "freshTokenRequired": online(reason, facts) + sinceConfirmed(facts) + "."
    case "offlineWindowExpired": offlineWindowExpired(facts)
    case "stepUpRequired": stepUpRequired(facts)
    case "sensitivityTooHigh": sensitivityTooHigh(facts)
    case "budgetExceeded": budgetExceeded(facts)
    case "policyError": "The policy can't be applied, so nothing is allowed."
    default: "Reason: \(reason)."
    }
  }

  /// Why only the person brings the session back: the words of error 2004.
  private static func sessionOver(_ facts: ReasonFacts) -> String {
    switch facts.list("because") {
    case "outcomeUnknown":
      "It is not known whether the provider took this account's refresh token, so this needs a new sign-in."
    case "noRefreshToken": "The account has no refresh token, so this needs a new sign-in."
    case "secretExpired": "This account's key has ended, as was told when it was added."
    case "secretRefused": "The provider refuses this account's key."
    case "identityMismatch": "The provider says that this account's key is another person's."
    case "issuerChanged", "subjectChanged": "The provider answered for another person."
    case "unexplainedRefusal": "The provider refused several times to refresh the account's token, and did not say why."
    case "installationSuspended": "This installation of the app is suspended."
    case "installationUnknown": "The provider knows this installation of the app no more."
    default: "The provider requires a new sign-in for this account."
    }
  }

  private static func clockSuspect(_ facts: ReasonFacts, isTimeTold: Bool) -> String {
    let distance = facts.span("behindSeconds").map { "\($0) behind" } ?? "behind"
    let known = isTimeTold ? "the time that the provider told" : "the time that was known before"
    return "This machine's clock is \(distance) \(known), so no time limit can be trusted."
  }

  /// Without a limit of the policy, being online is more than a confirmation (docs/offline.md, Policy).
  private static func online(_ reason: String, _ facts: ReasonFacts) -> String {
    if facts.number("onlineWithinSeconds") != nil { return "This needs a recent confirmation by the provider" }
    return reason == "onlineRequired"
      ? "This needs the provider, and the agent does not know that it can be reached now"
      : "This needs a confirmation by the provider within the last minute, and an access token that has not expired"
  }

  private static func sinceConfirmed(_ facts: ReasonFacts) -> String {
    let age = facts.span("lastOnlineAuthAgeSeconds").map { "; it last confirmed this account \($0) ago" } ?? ""
    return age + (facts.span("onlineWithinSeconds").map { " (the policy wants at most \($0) ago)" } ?? "")
  }

  private static func snapshotTooOld(_ facts: ReasonFacts) -> String {
    guard let age = facts.span("snapshotAgeSeconds"), let most = facts.span("snapshotMaxAgeSeconds") else {
      return "The snapshot of this account's rights is too old."
    }
    return "The snapshot of this account's rights is \(age) old; the policy accepts \(most)."
  }

  private static func missingRole(_ facts: ReasonFacts) -> String {
    if let missing = facts.list("missing") { return "The account lacks the role \(missing)." }
    return "The account has none of the roles that the policy accepts: \(facts.list("rolesAny") ?? "-")."
  }

  private static func missing(_ what: String, _ facts: ReasonFacts) -> String {
    "The account lacks the \(what) \(facts.list("missing") ?? "that this needs")."
  }

  private static func forbidden(_ facts: ReasonFacts) -> String {
    let conditions = [("role", "whenRole"), ("scope", "whenScope"), ("entitlement", "whenEntitlement")]
    let known = conditions.compactMap { what, name in facts.list(name).map { "the \(what) \($0)" } }
    guard !known.isEmpty else { return "The policy forbids it for every account." }
    return "The policy forbids it for accounts with \(known.joined(separator: " and "))."
  }

  private static func offlineWindowExpired(_ facts: ReasonFacts) -> String {
    guard let age = facts.span("lastOnlineAuthAgeSeconds") else {
      return "This is no longer allowed offline."
    }
    let window = facts.span("offlineWindowSeconds")
    return "The provider last confirmed this account \(age) ago; offline this is allowed for \(window ?? "no time")."
  }

  private static func stepUpRequired(_ facts: ReasonFacts) -> String {
    let proof =
      switch facts.list("method") {
      case "pin": "your PIN"
      case "pinentry": "your confirmation in the agent's own prompt"
      case let method: method ?? "a confirmation"
      }
    let age = facts.span("maxAgeSeconds").map { ", given less than \($0) ago" } ?? ""
    return "This needs \(proof)\(age), to confirm that it is you."
  }

  private static func budgetExceeded(_ facts: ReasonFacts) -> String {
    let budget = facts.number("perHour").map { " (\($0))" } ?? ""
    let wait = facts.span("retryAfterSeconds").map { " It is allowed again in \($0)." } ?? ""
    return "The policy's hourly budget for this\(budget) is used up.\(wait)"
  }

  private static func sensitivityTooHigh(_ facts: ReasonFacts) -> String {
    guard let most = facts.list("atMost"), let given = facts.list("sensitivity") else {
      return "The data is too sensitive for this capability."
    }
    return "The data is \(given); this capability covers at most \(most) data."
  }

  /// A remedy as a sentence, with its command.
  static func remedy(_ remedy: String, of account: AccountInfo) -> String {
    switch remedy {
    case "unlock": "Unlock the vault: `lanyard unlock`."
    case "connect": "Try again in a moment, or once the provider can be reached: the agent asks it."
    case "stepUp": "Confirm that it is you: `lanyard step-up \(account.label)`."
    case "reauthenticate" where account.takesAnotherKey:
      "Enter its key again, or another one: `lanyard rotate \(account.label)`."
    case "interact", "reauthenticate": "Sign in again: `lanyard login --account \(account.label)`."
    case "administrator": "Ask the administrator of this provider or machine."
    default: remedy
    }
  }
}
