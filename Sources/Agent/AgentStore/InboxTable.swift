package import AgentVault

/// Which inbox takes in late answers while the vault is locked.
package final class InboxTable: VaultTable {
  fileprivate(set) var number: UInt64

  package init(reading records: Vault) throws(VaultFailure) { number = try records.inbox.number() }
}

extension OpenVault {
  package var inboxNumber: UInt64 { self[InboxTable.self].number }

  /// Takes in a late answer while the vault is locked.
  var inbox: LockedInboxWriter { records.inbox.writer(of: inboxNumber) }
}

extension MemoryChange {
  package static func inboxNumber(_ number: UInt64) -> MemoryChange {
    MemoryChange { $0[InboxTable.self].number = number }
  }
}
