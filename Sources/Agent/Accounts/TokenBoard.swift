internal import AgentCore
internal import AgentModel
internal import AgentProtocol
internal import JSONRPC
internal import Secrets
internal import Synchronization

/// A fresh access token as the reading thread answers it: the account's actor publishes it, nobody hops to the actor.
///
/// The answer is kept as the two halves of a JSON object around `expiresInSeconds`, the only member that changes
/// with time; the first half holds the token and so lies in guarded memory.
final class PublishedToken: Sendable {
  let account: AccountID
  let serial: UInt64
  let lifetime: Milliseconds
  let refreshAt: BootInstant
  let expiresAt: BootInstant
  private let head: Secret
  private let tail: [UInt8]
  /// Milliseconds of the boot clock; 0: never.
  private let used = Atomic<Int64>(0)

  init(_ token: IssuedToken, account: AccountID, issuer: String, expiresAt: Timestamp) {
    self.account = account
    serial = token.facts.serial
    lifetime = token.facts.lifetime
    refreshAt = token.facts.refreshAt
    self.expiresAt = token.facts.expiresAt
    var head = JSONWriter(capacity: token.secret.count + 256)
    head.beginObject()
    head.member("accessToken", token.secret)
    head.member("tokenType", token.tokenType)
    head.member("expiresAt", expiresAt.rfc3339)
    head.key("expiresInSeconds")
    self.head = head.withBytes { Secret(copying: $0) }
    var tail = JSONWriter(capacity: 512)
    tail.verbatim(",")
    tail.member("account", account.text)
    tail.member("issuer", issuer)
    tail.member("scopes", token.scopes.names)
    tail.member("source", TokenMachine.Source.cache.rawValue)
    tail.member("fingerprint", token.facts.fingerprint)
    tail.member("generation", Int64(token.generation))
    tail.verbatim("}")
    self.tail = tail.withBytes { [UInt8]($0) }
  }

  /// Only what is fresh is answered here: a stale token begins a refresh, and that is the actor's to decide.
  func serves(_ minimum: Milliseconds, at now: BootInstant) -> Bool {
    now < refreshAt && (minimum >= lifetime || now + minimum <= expiresAt)
  }

  /// When it was last answered with from here; nil if it never was.
  var lastUsed: BootInstant? {
    let used = used.load(ordering: .relaxed)
    return used == 0 ? nil : BootInstant(milliseconds: used)
  }

  func write(at now: BootInstant, to writer: inout JSONWriter) {
    used.store(now.milliseconds, ordering: .relaxed)
    head.withBytes { writer.verbatim($0) }
    writer.digits((expiresAt - now).wholeSeconds)
    tail.withUnsafeBytes { writer.verbatim($0) }
  }
}

/// What the reading thread may know without asking an actor: who is called what, and whose token is fresh.
///
/// Written by the registry and the accounts, in the order of their commits; every entry is immutable.
final class TokenBoard: Sendable {
  fileprivate struct State {
    var tokens: [String: PublishedToken] = [:]
    var aliasOfAccount: [String: String] = [:]
    var accountsOfAlias: [String: Set<String>] = [:]
    var active: String?
    /// Of the accounts whose grant is open.
    var states: [String: WireAccountState] = [:]
  }
  private let state = Mutex(State())
  private let changes = Atomic<UInt64>(0)

  /// Grows with every change: what was looked up under one version is right as long as it stays.
  var version: UInt64 { changes.load(ordering: .acquiring) }

  private func change(_ body: (inout State) -> Void) {
    state.withLock { body(&$0) }
    changes.add(1, ordering: .releasing)
  }

  /// The token for a selector as it stands on the wire; nil sends the caller to the actors.
  func token(selector: String) -> PublishedToken? {
    state.withLock { state in
      if let token = state.tokens[selector] { return token }
      if selector == "@active" { return state.active.flatMap { state.tokens[$0] } }
      guard let accounts = state.accountsOfAlias[selector], accounts.count == 1 else { return nil }
      return state.tokens[accounts.first!]
    }
  }

  /// The account that a selector names now, for event filters.
  func account(selector: AccountSelector) -> String? {
    state.withLock { state in
      switch selector {
      case .active: return state.active
      case .id(let id): return state.aliasOfAccount[id.text] == nil ? nil : id.text
      case .alias(let alias):
        guard let accounts = state.accountsOfAlias[alias], accounts.count == 1 else { return nil }
        return accounts.first
      }
    }
  }

  func state(of account: AccountID) -> WireAccountState? { state.withLock { $0.states[account.text] } }

  func setState(_ new: WireAccountState, of account: AccountID) { state.withLock { $0.states[account.text] = new } }

  func publish(_ token: PublishedToken) {
    change { $0.tokens[token.account.text] = token }
  }

  func withdraw(_ account: AccountID) {
    change { $0.tokens[account.text] = nil }
  }

  func setDirectory(_ accounts: [(AccountID, Alias?)], active: AccountID?) {
    change { state in
      state = State()
      state.aliasOfAccount.reserveCapacity(accounts.count)
      for (id, alias) in accounts { state.set(id.text, alias: alias?.text) }
      state.active = active?.text
    }
  }

  func setAccount(_ id: AccountID, alias: Alias?) { change { $0.set(id.text, alias: alias?.text) } }
  func setActive(_ id: AccountID?) { change { $0.active = id?.text } }

  func remove(_ id: AccountID) {
    change { state in
      state.set(id.text, alias: nil)
      state.aliasOfAccount[id.text] = nil
      state.tokens[id.text] = nil
      state.states[id.text] = nil
      if state.active == id.text { state.active = nil }
    }
  }

  func clear() { change { $0 = State() } }
}

extension TokenBoard.State {
  /// An account without an alias has an empty one, so that it is known all the same.
  fileprivate mutating func set(_ id: String, alias: String?) {
    if let old = aliasOfAccount[id], !old.isEmpty {
      accountsOfAlias[old]?.remove(id)
      if accountsOfAlias[old]?.isEmpty == true { accountsOfAlias[old] = nil }
    }
    aliasOfAccount[id] = alias ?? ""
    if let alias { accountsOfAlias[alias, default: []].insert(id) }
  }
}
