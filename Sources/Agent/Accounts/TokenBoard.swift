internal import AgentCore
internal import AgentModel
internal import AgentProtocol
internal import JSONRPC
internal import Secrets
internal import Synchronization

/// A fresh access token as the reading thread answers it: the account's actor publishes it, nobody hops to the actor.
///
/// The answer is kept as the two halves of a JSON object around `expiresInSeconds`, the only member that changes
/// with time. The first half holds the token, so they lie in guarded memory; in one piece, since with ten thousand
/// accounts each further place is one that the processor has to wait for.
final class PublishedToken: Sendable {
  let account: AccountID
  let serial: UInt64
  let lifetime: Milliseconds
  let refreshAt: BootInstant
  let expiresAt: BootInstant
  private let halves: SecretBytes
  private let headCount: Int
  /// Milliseconds of the boot clock; 0: never.
  private let used = Atomic<Int64>(0)

  init(_ token: IssuedToken, account: AccountID, issuer: String, expiresAt: Timestamp) {
    self.account = account
    serial = token.facts.serial
    lifetime = token.facts.lifetime
    refreshAt = token.facts.refreshAt
    self.expiresAt = token.facts.expiresAt
    var answer = JSONWriter(capacity: token.secret.count + 768)
    answer.beginObject()
    answer.member("accessToken", token.secret)
    answer.member("tokenType", token.tokenType)
    answer.member("expiresAt", expiresAt.rfc3339)
    answer.key("expiresInSeconds")
    headCount = answer.count
    answer.verbatim(",")
    answer.member("account", account.text)
    answer.member("issuer", issuer)
    answer.member("scopes", token.scopes.names)
    answer.member("source", TokenMachine.Source.cache.rawValue)
    answer.member("fingerprint", token.facts.fingerprint)
    answer.member("generation", Int64(token.generation))
    answer.endObject()
    halves = SecretBytes(capacity: answer.count) { target in
      answer.withBytes { target.copyMemory(from: $0) }
      return target.count
    }
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
    halves.withBytes { halves in
      writer.verbatim(UnsafeRawBufferPointer(rebasing: halves[..<headCount]))
      writer.digits((expiresAt - now).wholeSeconds)
      writer.verbatim(UnsafeRawBufferPointer(rebasing: halves[headCount...]))
    }
  }
}

/// What the reading thread may know without asking an actor: who is called what, and whose token is fresh.
///
/// Written by the registry and the accounts, in the order of their commits; every entry is immutable.
final class TokenBoard: Sendable {
  fileprivate struct State {
    var tokens: [AccountKey: PublishedToken] = [:]
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

  func token(of account: AccountKey) -> PublishedToken? { state.withLock { $0.tokens[account] } }

  /// The token for a selector as it stands on the wire; nil sends the caller to the actors.
  func token(selector: AccountSelector) -> PublishedToken? {
    account(selector: selector).flatMap { AccountID($0) }.flatMap { token(of: AccountKey($0)) }
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
    change { $0.tokens[AccountKey(token.account)] = token }
  }

  func withdraw(_ account: AccountID) {
    change { $0.tokens[AccountKey(account)] = nil }
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
      state.tokens[AccountKey(id)] = nil
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
