internal import AgentModel
internal import AgentPorts
package import AgentStore

extension OpenVault {
  /// The accounts.
  package var directory: AccountTable { self[AccountTable.self] }
}

extension PublishedTables {
  var tokenCache: TokenCache { self[TokenCache.self] }
}

/// A published table with answers that depend on an account. It is told before anyone learns that the account changed.
protocol AccountWatcher: PublishedTable {
  func accountChanged(_ id: AccountID)
}

extension TokenCache: PublishedTable {
  package func open(_ vault: OpenVault) {
    setDirectory(
      vault.directory.profiles.values.map { ($0.id, $0.alias) }, active: vault.directory.active,
      unlockGeneration: vault.unlockGeneration)
  }

  package func close() { clear() }
}

extension MemoryChange {
  static func account(_ profile: AccountProfile) -> MemoryChange {
    MemoryChange { vault in
      vault.tellWatchers(of: profile.id)
      let previous = vault.directory.put(profile)
      if previous == nil || previous?.alias != profile.alias {
        vault.tables.tokenCache.setAccount(profile.id, alias: profile.alias)
      }
    }
  }

  static func accountForgotten(_ id: AccountID) -> MemoryChange {
    MemoryChange { vault in
      vault.tellWatchers(of: id)
      vault.directory.remove(id)
      vault.tables.tokenCache.remove(id)
    }
  }

  static func active(_ id: AccountID?) -> MemoryChange {
    MemoryChange { vault in
      vault.directory.setActive(id)
      vault.tables.tokenCache.setActive(id)
    }
  }

  static func tokensWithdrawn(_ id: AccountID) -> MemoryChange {
    MemoryChange { $0.tables.tokenCache.withdraw(id) }
  }
}

extension OpenVault {
  fileprivate func tellWatchers(of id: AccountID) {
    for case let watcher as any AccountWatcher in tables.inOrder { watcher.accountChanged(id) }
  }
}
