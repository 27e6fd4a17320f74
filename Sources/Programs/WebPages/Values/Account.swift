internal import AgentModel

/// An account as `account.list` gives it.
struct Account: Sendable {
  let id: String
  let alias: String?
  let provider: String
  let issuer: String
  let tenant: String?
  let kind: String
  /// What a person knows it by: a display name, an address, an alias, the provider's own number.
  let person: String
  /// The address or user name, where `person` is another.
  let address: String?
  let state: State
  let isActive: Bool
  let expiresAt: Timestamp?
  let lastConfirmedAt: Timestamp?
  let dataProtection: String?

  enum State: String, Sendable, CaseIterable {
    case reauthenticationRequired, interactionRequired, locked, offlineStale, active, signedOut

    /// A word, the colour of its mark, and what it means.
    var words: (short: String, tone: Tone, meaning: String) {
      switch self {
      case .active: ("well", .good, "Programs get tokens.")
      case .offlineStale: ("offline", .warn, "The provider has not confirmed it for some time.")
      case .interactionRequired:
        ("needs you", .bad, "The provider wants you to sign in. Programs get no tokens until then.")
      case .reauthenticationRequired:
        ("sign in again", .bad, "Its session has ended. Programs get no tokens until you sign in again.")
      case .locked: ("disabled", .bad, "The provider has disabled this account.")
      case .signedOut: ("signed out", .idle, "Programs get no tokens.")
      }
    }

    /// The person can mend it by signing in.
    var needsSignIn: Bool { self == .reauthenticationRequired || self == .interactionRequired }
  }

  init?(_ value: JSONValue) {
    guard let id = value["id"]?.string, let provider = value["provider"]?.string else { return nil }
    self.id = id
    self.provider = provider
    alias = value["alias"]?.string
    issuer = value["issuer"]?.string ?? ""
    tenant = value["tenant"]?.string
    kind = value["kind"]?.string ?? "openid"
    let subject = value["subject"]?.string ?? ""
    let isDigest = subject.hasPrefix("secret:") || subject.hasPrefix("erased:")
    let known = ["displayName", "email", "username", "alias"].compactMap { value[$0]?.string }.first { !$0.isEmpty }
    person = known ?? (isDigest ? "An account at \(provider)" : subject)
    let address = value["email"]?.string ?? value["username"]?.string
    self.address = address == person ? nil : address
    state = value["state"]?.string.flatMap { State(rawValue: $0) } ?? .signedOut
    isActive = value["active"]?.isTrue ?? false
    expiresAt = value["expiresAt"]?.moment
    lastConfirmedAt = value["lastOnlineAuthAt"]?.moment
    dataProtection = value["dataProtection"]?.string
  }

  /// The alias, else what a person knows it by: the name of the account on other pages.
  var label: String { alias ?? person }

  /// The words of its state. A key is given anew and not signed in; a machine asks for its tokens itself.
  var stateWords: (short: String, tone: Tone, meaning: String) {
    guard state.needsSignIn else { return state.words }
    switch kind {
    case "secret":
      return ("needs a new key", .bad, "Its key has ended or is refused. Programs get none until you give another.")
    case "client": return ("refused", .bad, "Its provider gives it no tokens. `lanyard doctor` says why.")
    default: return state.words
    }
  }

  /// A secret that ends within a week is told.
  func endsSoon(at now: Timestamp) -> Bool {
    guard let expiresAt, state != .signedOut else { return false }
    return expiresAt - now < .seconds(7 * 86_400)
  }

  /// It needs something of the person.
  func needsPerson(at now: Timestamp) -> Bool { state.words.tone == .bad || endsSoon(at: now) }
}

/// The colour of a mark. The word beside it says the same.
enum Tone: String, Sendable { case good, warn, bad, idle }

/// The accounts of an answer, by their ids.
struct Accounts: Sendable {
  let all: [Account]
  private let byID: [String: Int]

  init(_ answers: AgentAnswers) {
    all = answers["accounts"]?["accounts"]?.elements.compactMap { Account($0) } ?? []
    byID = Dictionary(all.enumerated().map { ($1.id, $0) }, uniquingKeysWith: { first, _ in first })
  }

  subscript(id: String) -> Account? { byID[id].map { all[$0] } }

  /// The name of an account; its id where it is gone.
  func label(_ id: String) -> String { self[id]?.label ?? id }

  /// What needs the person first, then the active one, then by name.
  func sorted(at now: Timestamp) -> [Account] {
    func rank(_ account: Account) -> Int {
      if account.needsPerson(at: now) { return 0 }
      if account.isActive { return 1 }
      return account.state == .signedOut ? 3 : 2
    }
    return all.map { (rank($0), $0.label.lowercased(), $0) }
      .sorted { ($0.0, $0.1, $0.2.id) < ($1.0, $1.1, $1.2.id) }.map(\.2)
  }
}
