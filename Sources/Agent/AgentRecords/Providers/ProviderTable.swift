package import AgentModel
package import AgentOAuth
package import AgentPorts
package import AgentStore
package import AgentVault

/// The providers in memory.
package final class ProviderTable: VaultTable {
  /// With those whose file is gone.
  package private(set) var all: [ProviderName: Provider] = [:]
  /// The places of providers whose records do not open: requests for them and their accounts fail with `integrity`.
  package private(set) var damaged: Set<[UInt8]> = []

  package init(reading records: Vault) throws(VaultFailure) {
    for (id, plain) in try records.readEach(.provider) {
      guard let provider = plain.flatMap({ Provider($0) }) else {
        damaged.insert(id)
        continue
      }
      all[provider.configuration.name] = provider
    }
  }

  package static func disarming(
    _ records: Vault, closing closed: inout Set<PartitionID>, _ dependencies: VaultDependencies
  ) throws(VaultFailure) -> [VaultChange] { [] }

  /// Without those whose file is gone.
  package var sorted: [Provider] {
    all.values.filter { !$0.isGone }.sorted { $0.configuration.name < $1.configuration.name }
  }

  fileprivate func put(_ provider: Provider, at place: [UInt8]) {
    all[provider.configuration.name] = provider
    damaged.remove(place)
  }

  fileprivate func remove(_ name: ProviderName) { all[name] = nil }
}

extension OpenVault {
  package var providerTable: ProviderTable { self[ProviderTable.self] }
}

/// A published table with answers that depend on a provider's settings.
package protocol ProviderWatcher: PublishedTable {
  /// - Parameter provider: nil once it is removed.
  func providerChanged(_ name: ProviderName, to provider: Provider?)
}

extension MemoryChange {
  /// - Parameter place: where its record is, which opens from now on.
  package static func provider(_ provider: Provider, place: [UInt8]) -> MemoryChange {
    MemoryChange { vault in
      vault.providerTable.put(provider, at: place)
      vault.tellWatchers(of: provider.configuration.name, provider)
    }
  }

  static func providerRemoved(_ name: ProviderName) -> MemoryChange {
    MemoryChange { vault in
      vault.providerTable.remove(name)
      vault.tellWatchers(of: name, nil)
    }
  }
}

extension OpenVault {
  fileprivate func tellWatchers(of name: ProviderName, _ provider: Provider?) {
    for case let watcher as any ProviderWatcher in tables.inOrder { watcher.providerChanged(name, to: provider) }
  }
}
