import CommandSupport
import JSONRPC

/// What was compared with what, of a check that failed.
struct ReasonFacts {
  private let numbers: [String: Int]
  private let words: [String: [String]]

  init(_ facts: JSONNode?) {
    var numbers: [String: Int] = [:]
    var words: [String: [String]] = [:]
    for (key, value) in facts?.members.map({ ($0.key, $0.value) }) ?? [] {
      guard let name = key.string else { continue }
      switch value.kind {
      case .number: numbers[name] = value.integer.map { Int($0) }
      case .string: words[name] = value.string.map { [$0] }
      case .array: words[name] = value.elements.compactMap { $0.string }
      default: break
      }
    }
    self.numbers = numbers
    self.words = words
  }

  func span(_ name: String) -> String? { numbers[name].map(Moment.spelledOut) }
  func list(_ name: String) -> String? {
    words[name].flatMap { $0.isEmpty ? nil : $0.joined(separator: ", ") }
  }
}

/// The reasons and remedies of decisions (docs/offline.md, Decisions) as sentences.
enum ReasonMessages {
  static func sentence(_ reason: String, _ facts: ReasonFacts) -> String {
    switch reason {
    case "unknownCapability": "The policy knows nothing of this, and allows only what it names."
    case "accountLocked": "The provider has disabled this account."
    case "signedOut": "The account is signed out."
    case "reauthenticationRequired": "The provider wants a new sign-in before it stands behind this account again."
    case "neverAuthenticated": "The provider has never confirmed this account."
    case "clockSuspect": "This machine's clock is behind what was known before, so that no time limit can be trusted."
    case "snapshotMissing": "Nothing is known yet of what the provider allows this account."
    case "snapshotTooOld": snapshotTooOld(facts)
    case "missingRole": missingRole(facts)
    case "missingScope": missing("scope", facts)
    case "missingEntitlement": missing("entitlement", facts)
    case "forbidden": forbidden(facts)
    case "onlineRequired": "This needs the provider, and there is no way to it now" + sinceConfirmed(facts) + "."
    case "freshTokenRequired":
      "This needs a token that the provider accepts now, and there is none" + sinceConfirmed(facts) + "."
    case "offlineWindowExpired": offlineWindowExpired(facts)
    case "stepUpRequired": stepUpRequired(facts)
    case "sensitivityTooHigh": sensitivityTooHigh(facts)
    case "policyError": "The policy can't be applied, so that nothing is allowed by it."
    default: "The reason is \(reason)."
    }
  }

  private static func sinceConfirmed(_ facts: ReasonFacts) -> String {
    let age = facts.span("lastOnlineAuthAgeSeconds").map { "; it last confirmed this account \($0) ago" } ?? ""
    return age + (facts.span("onlineWithinSeconds").map { " (at most \($0) ago would do)" } ?? "")
  }

  private static func snapshotTooOld(_ facts: ReasonFacts) -> String {
    guard let age = facts.span("snapshotAgeSeconds"), let most = facts.span("snapshotMaxAgeSeconds") else {
      return "What is known of this account's rights is too old."
    }
    return "What is known of this account's rights is \(age) old; it may be \(most) old at most."
  }

  private static func missingRole(_ facts: ReasonFacts) -> String {
    if let missing = facts.list("missing") { return "The account lacks the role \(missing)." }
    return "The account has none of the roles that may: \(facts.list("rolesAny") ?? "others")."
  }

  private static func missing(_ what: String, _ facts: ReasonFacts) -> String {
    "The account lacks the \(what) \(facts.list("missing") ?? "that this needs")."
  }

  private static func forbidden(_ facts: ReasonFacts) -> String {
    let conditions = [("role", "whenRole"), ("scope", "whenScope"), ("entitlement", "whenEntitlement")]
    let known = conditions.compactMap { what, name in facts.list(name).map { "the \(what) \($0)" } }
    return
      "The policy forbids it to \(known.isEmpty ? "everybody" : "whoever has \(known.joined(separator: " and "))")."
  }

  private static func offlineWindowExpired(_ facts: ReasonFacts) -> String {
    guard let age = facts.span("lastOnlineAuthAgeSeconds") else {
      return "Without the provider's word this is no longer allowed."
    }
    let window = facts.span("offlineWindowSeconds")
    return "The provider last confirmed this account \(age) ago; without it this is allowed for \(window ?? "no time")."
  }

  private static func stepUpRequired(_ facts: ReasonFacts) -> String {
    let proof = facts.list("method") == "pin" ? "your PIN" : facts.list("method") ?? "a confirmation"
    let age = facts.span("maxAgeSeconds").map { ", given less than \($0) ago" } ?? ""
    return "This takes \(proof)\(age), so that it is known to be you."
  }

  private static func sensitivityTooHigh(_ facts: ReasonFacts) -> String {
    guard let most = facts.list("atMost"), let given = facts.list("sensitivity") else {
      return "The data is more sensitive than this may touch."
    }
    return "The data is \(given), and this may touch at most what is \(most)."
  }

  /// What to do about it, with the command where there is one.
  static func remedy(_ remedy: String, account: String) -> String {
    switch remedy {
    case "unlock": "Unlock the vault: `lanyard unlock`."
    case "connect": "Connect to the network; the agent asks the provider by itself."
    case "stepUp": "Confirm that it is you: `lanyard step-up \(account)`."
    case "interact", "reauthenticate": "Sign in again: `lanyard login --account \(account)`."
    case "administrator": "Ask whoever administers this provider or machine."
    default: remedy
    }
  }
}
