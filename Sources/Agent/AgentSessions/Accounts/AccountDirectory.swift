package import AgentModel
internal import AgentPorts
package import AgentRecords
package import AgentStore
internal import Synchronization

/// The `Account` actors in use; `AccountDirectory` makes each one when a caller first asks for its account.
package final class AccountDirectory: Sendable {
  package let dependencies: AccountDependencies
  private let actors = Mutex<[AccountID: Account]>([:])

  package init(dependencies: AccountDependencies) { self.dependencies = dependencies }

  package func account(_ id: AccountID) -> Account {
    actors.withLock { actors in
      if let known = actors[id] { return known }
      let account = Account(id: id, dependencies: dependencies)
      actors[id] = account
      return account
    }
  }

  /// The actor of the account that a selector names now. Asks `VaultActor` only if it must, since that may be writing
  /// for another account.
  package func actor(_ selector: AccountSelector) async throws(AgentFailure) -> Account {
    if let id = dependencies.tokenCache.account(selector: selector) { return account(id) }
    return try await account(selector).1
  }

  /// The account that a selector names now, with its actor.
  package func account(_ selector: AccountSelector) async throws(AgentFailure) -> (AccountProfile, Account) {
    let profile = try await dependencies.vault.profile(selector)
    return (profile, account(profile.id))
  }

  /// The providers may be reachable again.
  package func reconnected() {
    for account in actors.withLock({ $0.values.sorted { $0.id < $1.id } }) {
      dependencies.background.start { await account.reconnected() }
    }
  }

  /// The time of this provider was set; nil: the wall clock was.
  package func clockChanged(of provider: ProviderName? = nil) {
    for account in actors.withLock({ $0.values.sorted { $0.id < $1.id } }) {
      dependencies.background.start { await account.clockChanged(of: provider) }
    }
  }

  /// Brings the states of the accounts up to now that could have changed without an event: at the start, what became of
  /// requests that were under way, and later what time has changed. `ids`: only of these; nil: of all.
  package func settle(_ ids: Set<AccountID>? = nil) async {
    for id in dependencies.tokenCache.unsettled(at: dependencies.environment.clock.boot())
    where ids?.contains(id) ?? true {
      try? await account(id).settle()  // a damaged account is told as such by the methods that open it
    }
  }

  /// Opens these accounts, so that each tells its subscribers what a change of its provider makes of it.
  package func load(_ ids: [AccountID]) async {
    for id in ids { try? await account(id).load() }
  }

  /// The configuration of these accounts' provider changed.
  package func configurationChanged(_ ids: [AccountID]) async {
    for id in ids {
      guard let known = actors.withLock({ $0[id] }) else { continue }
      await known.configurationChanged()
    }
  }

  /// The account was restored from a backup: drops the memory of an actor that belongs to its forgotten incarnation.
  package func replaced(_ id: AccountID) async {
    guard let known = actors.withLock({ $0[id] }) else { return }
    await known.release(.signedOut(id))
  }

  /// The vault was locked: drops the memory of all accounts.
  package func releaseAll() async {
    // Keep the actors: one may hold an answer that could not be stored yet.
    for account in actors.withLock({ $0.values.sorted { $0.id < $1.id } }) { await account.vaultWasLocked() }
    dependencies.renewals.clear()
  }
}
