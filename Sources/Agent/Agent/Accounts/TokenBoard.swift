internal import AgentModel
internal import AgentProtocol
internal import Synchronization

/// What the reading thread may know without asking an actor: who is called what, and whose token is fresh.
///
/// Written by the registry and the accounts, in the order of their commits; every entry is immutable.
final class TokenBoard: Sendable {
  fileprivate struct State {
    private var tokens: [AccountKey: PublishedToken] = [:]
    private(set) var shown: [AccountKey: PublishedToken.Shown] = [:]
    var aliasOfAccount: [String: String] = [:]
    var accountsOfAlias: [String: Set<String>] = [:]
    var active: String?
    /// Which opening of the vault this is of; nil while it is locked.
    var opening: UInt64?
    /// Of the accounts whose grant is open.
    var states: [String: WireAccountState] = [:]

    mutating func show(_ token: PublishedToken?, of account: AccountKey) {
      shown[account] = token?.shown
      tokens[account] = token  // the one before goes, after what pointed into it
    }
  }
  private let state = Mutex(State())
  private let changes = Atomic<UInt64>(0)

  /// Grows with every change: what was looked up under one version is right as long as it stays.
  var version: UInt64 { changes.load(ordering: .acquiring) }

  private func change(_ body: (inout State) -> Void) {
    state.withLock { body(&$0) }
    changes.add(1, ordering: .releasing)
  }

  /// Lends an account's token if it is fresh and serves that long; false sends the caller to the actors.
  func withFresh(
    _ account: AccountKey, minimum: Milliseconds, at now: BootInstant, _ body: (PublishedToken.Shown) -> Void
  ) -> Bool {
    state.withLock { state in
      guard let shown = state.shown[account], shown.serves(minimum, at: now) else { return false }
      body(shown)
      return true
    }
  }

  /// The account that a selector names now, for event filters.
  func account(selector: AccountSelector) -> String? {
    let accounts = accounts(selector: selector)
    return accounts.count == 1 ? accounts.first : nil
  }

  /// All that a selector may mean.
  func accounts(selector: AccountSelector) -> Set<String> {
    state.withLock { state in
      switch selector {
      case .active: return Set([state.active].compactMap { $0 })
      case .id(let id): return state.aliasOfAccount[id.text] == nil ? [] : [id.text]
      case .alias(let alias): return state.accountsOfAlias[alias] ?? []
      }
    }
  }

  /// False while the vault is locked: nobody is known here then.
  var isOpen: Bool { state.withLock { $0.opening != nil } }

  func state(of account: AccountID) -> WireAccountState? { state.withLock { $0.states[account.text] } }

  func setState(_ new: WireAccountState, of account: AccountID) { state.withLock { $0.states[account.text] = new } }

  func publish(_ token: PublishedToken) {
    change { $0.show(token, of: AccountKey(token.account)) }
  }

  func withdraw(_ account: AccountID) {
    change { $0.show(nil, of: AccountKey(account)) }
  }

  var opening: UInt64? { state.withLock { $0.opening } }

  func setDirectory(_ accounts: [(AccountID, Alias?)], active: AccountID?, opening: UInt64) {
    change { state in
      state = State()
      state.aliasOfAccount.reserveCapacity(accounts.count)
      for (id, alias) in accounts { state.set(id.text, alias: alias?.text) }
      state.active = active?.text
      state.opening = opening
    }
  }

  func setAccount(_ id: AccountID, alias: Alias?) { change { $0.set(id.text, alias: alias?.text) } }
  func setActive(_ id: AccountID?) { change { $0.active = id?.text } }

  func remove(_ id: AccountID) {
    change { state in
      state.set(id.text, alias: nil)
      state.aliasOfAccount[id.text] = nil
      state.show(nil, of: AccountKey(id))
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
