package import AgentModel
internal import AgentOAuth
internal import Secrets
internal import Synchronization

/// The names and fresh tokens of the accounts, which the reading thread reads without asking an actor.
///
/// Written by `VaultActor` and the accounts, in the order of their commits; every entry is immutable.
package final class TokenCache: Sendable {
  /// What is known of one account: in one table, since three would take twice the memory.
  fileprivate struct Known {
    var token: PublishedToken?
    var alias: Alias?
    /// The account is in the directory.
    var isListed = false
    /// Of an account in memory.
    var session: SessionState?

    var isEmpty: Bool { token == nil && !isListed && session == nil }
  }

  fileprivate struct State {
    /// The parts of the tokens that answer. Apart from `accounts`, whose values own references.
    private(set) var shown: [AccountID: PublishedToken.Shown] = [:]
    private(set) var accounts: [AccountID: Known] = [:]
    var accountsOfAlias: [String: Set<AccountID>] = [:]
    var active: AccountID?
    /// Accounts whose profile does not tell their state: it hangs on what the journal has, or on the time.
    var unsettled: Set<AccountID> = []
    /// The opening of the vault that the cache belongs to; nil while the vault is locked.
    var unlockGeneration: UInt64?

    init() {}

    init(capacity: Int) { accounts.reserveCapacity(capacity) }

    mutating func change(_ account: AccountID, _ body: (inout Known) -> Void) {
      body(&accounts[account, default: Known()])
      if accounts[account]?.isEmpty == true { accounts[account] = nil }
    }

    mutating func show(_ token: PublishedToken?, of account: AccountID) {
      shown[account] = token?.shown
      change(account) { $0.token = token }  // the one before goes, after what pointed into it
    }
  }
  private let state = Mutex(State())
  private let changes = Atomic<UInt64>(0)

  package init() {}

  /// Grows with every change: the result of a look-up is valid while the version is the same.
  package var version: UInt64 { changes.load(ordering: .acquiring) }

  private func change(_ body: (inout State) -> Void) {
    state.withLock { body(&$0) }
    changes.add(1, ordering: .releasing)
  }

  /// Passes an account's token to `body` if it is fresh and lives for `minimum`; false if the actors must answer.
  package func withFresh(
    _ account: AccountID, minimum: Milliseconds, at now: BootInstant, _ body: (PublishedToken.Shown) -> Void
  ) -> Bool {
    state.withLock { state in
      guard let shown = state.shown[account], shown.serves(minimum, at: now) else { return false }
      body(shown)
      return true
    }
  }

  /// An account's token for a request that is sent now, if it is fresh; nil if the actors must answer.
  package func requestToken(of account: AccountID, at now: BootInstant) -> RequestToken? {
    state.withLock { state in
      guard let shown = state.shown[account], shown.serves(.zero, at: now) else { return nil }
      shown.token.noteUse(at: now)
      return shown.token.requestToken
    }
  }

  /// The standard tokens of these accounts that have not expired, also stale ones; nil: of all accounts.
  func standardTokens(of accounts: Set<AccountID>?, at now: BootInstant) -> [Secret] {
    state.withLock { state in
      let known =
        accounts.map { $0.compactMap { state.accounts[$0]?.token } } ?? state.accounts.values.compactMap(\.token)
      return known.filter { now < $0.expiresAt }.map(\.requestToken.credential.token)
    }
  }

  /// The account that a selector names now, for event filters.
  package func account(selector: AccountSelector) -> AccountID? {
    let accounts = accounts(selector: selector)
    return accounts.count == 1 ? accounts.first : nil
  }

  /// The accounts that a selector may name.
  package func accounts(selector: AccountSelector) -> Set<AccountID> {
    state.withLock { state in
      switch selector {
      case .active: return Set([state.active].compactMap { $0 })
      case .id(let id): return state.accounts[id]?.isListed == true ? [id] : []
      case .alias(let alias): return state.accountsOfAlias[alias] ?? []
      }
    }
  }

  /// False while the vault is locked: the cache then knows no account.
  package var isOpen: Bool { state.withLock { $0.unlockGeneration != nil } }

  func session(of account: AccountID) -> SessionState? { state.withLock { $0.accounts[account]?.session } }

  /// Nil: the account left memory, and its profile tells its state.
  package func setSession(_ new: SessionState?, of account: AccountID) {
    state.withLock { state in
      if state.accounts[account]?.session != new { state.change(account) { $0.session = new } }
      if new?.mayChangeAt != nil { state.unsettled.insert(account) } else { state.unsettled.remove(account) }
    }
  }

  /// The accounts that must be asked before their state is told.
  package func unsettled(at now: BootInstant) -> [AccountID] {
    state.withLock { state in
      state.unsettled.filter { id in state.accounts[id]?.session?.mayChangeAt.map { $0 <= now } ?? true }.sorted()
    }
  }

  package func publish(_ token: PublishedToken) {
    change { $0.show(token, of: token.account) }
  }

  package func withdraw(_ account: AccountID) {
    change { $0.show(nil, of: account) }
  }

  package var unlockGeneration: UInt64? { state.withLock { $0.unlockGeneration } }

  func setDirectory(
    _ accounts: [(AccountID, Alias?)], active: AccountID?, unsettled: Set<AccountID>, unlockGeneration: UInt64
  ) {
    change { state in
      state = State(capacity: accounts.count)
      for (id, alias) in accounts { state.set(id, alias: alias) }
      state.active = active
      state.unsettled = unsettled
      state.unlockGeneration = unlockGeneration
    }
  }

  func setAccount(_ id: AccountID, alias: Alias?) { change { $0.set(id, alias: alias) } }
  func setActive(_ id: AccountID?) { change { $0.active = id } }

  func remove(_ id: AccountID) {
    change { state in
      state.set(id, alias: nil)
      state.show(nil, of: id)
      state.change(id) { $0 = Known() }
      state.unsettled.remove(id)
      if state.active == id { state.active = nil }
    }
  }

  func clear() { change { $0 = State() } }
}

extension TokenCache.State {
  fileprivate mutating func set(_ id: AccountID, alias: Alias?) {
    if let old = accounts[id]?.alias?.text {
      accountsOfAlias[old]?.remove(id)
      if accountsOfAlias[old]?.isEmpty == true { accountsOfAlias[old] = nil }
    }
    change(id) { known in
      known.alias = alias
      known.isListed = true
    }
    if let alias { accountsOfAlias[alias.text, default: []].insert(id) }
  }
}
