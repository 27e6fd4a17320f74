package import AgentCore
package import AgentModel
internal import Synchronization

/// The names and fresh tokens of the accounts, which the reading thread reads without asking an actor.
///
/// Written by `VaultActor` and the accounts, in the order of their commits; every entry is immutable.
package final class TokenCache: Sendable {
  fileprivate struct State {
    private var tokens: [AccountID: PublishedToken] = [:]
    private(set) var shown: [AccountID: PublishedToken.Shown] = [:]
    /// The alias of every account of the directory; nil inside for an account without one.
    var aliases: [AccountID: Alias?] = [:]
    var accountsOfAlias: [String: Set<AccountID>] = [:]
    var active: AccountID?
    /// The opening of the vault that the cache belongs to; nil while the vault is locked.
    var unlockGeneration: UInt64?
    /// The states of the accounts with an open grant.
    var states: [AccountID: AccountState] = [:]

    mutating func show(_ token: PublishedToken?, of account: AccountID) {
      shown[account] = token?.shown
      tokens[account] = token  // the one before goes, after what pointed into it
    }
  }
  private let state = Mutex(State())
  private let changes = Atomic<UInt64>(0)

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
  func requestToken(of account: AccountID, at now: BootInstant) -> RequestToken? {
    state.withLock { state in
      guard let shown = state.shown[account], shown.serves(.zero, at: now) else { return nil }
      shown.token.noteUse(at: now)
      return shown.token.requestToken
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
      case .id(let id): return state.aliases[id] == nil ? [] : [id]
      case .alias(let alias): return state.accountsOfAlias[alias] ?? []
      }
    }
  }

  /// False while the vault is locked: the cache then knows no account.
  package var isOpen: Bool { state.withLock { $0.unlockGeneration != nil } }

  package func state(of account: AccountID) -> AccountState? { state.withLock { $0.states[account] } }

  func setState(_ new: AccountState, of account: AccountID) { state.withLock { $0.states[account] = new } }

  package func publish(_ token: PublishedToken) {
    change { $0.show(token, of: token.account) }
  }

  func withdraw(_ account: AccountID) {
    change { $0.show(nil, of: account) }
  }

  var unlockGeneration: UInt64? { state.withLock { $0.unlockGeneration } }

  func setDirectory(_ accounts: [(AccountID, Alias?)], active: AccountID?, unlockGeneration: UInt64) {
    change { state in
      state = State()
      state.aliases.reserveCapacity(accounts.count)
      for (id, alias) in accounts { state.set(id, alias: alias) }
      state.active = active
      state.unlockGeneration = unlockGeneration
    }
  }

  func setAccount(_ id: AccountID, alias: Alias?) { change { $0.set(id, alias: alias) } }
  func setActive(_ id: AccountID?) { change { $0.active = id } }

  package func remove(_ id: AccountID) {
    change { state in
      state.set(id, alias: nil)
      state.aliases.removeValue(forKey: id)
      state.show(nil, of: id)
      state.states[id] = nil
      if state.active == id { state.active = nil }
    }
  }

  package func clear() { change { $0 = State() } }
}

extension TokenCache.State {
  fileprivate mutating func set(_ id: AccountID, alias: Alias?) {
    if let old = aliases[id]??.text {
      accountsOfAlias[old]?.remove(id)
      if accountsOfAlias[old]?.isEmpty == true { accountsOfAlias[old] = nil }
    }
    aliases.updateValue(alias, forKey: id)
    if let alias { accountsOfAlias[alias.text, default: []].insert(id) }
  }
}
