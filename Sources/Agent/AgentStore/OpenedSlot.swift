package import AgentVault

/// The slot that opened the vault.
package final class OpenedSlot: VaultTable {
  /// Nil once the slot is removed.
  fileprivate(set) var number: Int?

  package init(reading records: Vault) {}
}

extension OpenVault {
  package var openedSlot: Int? { self[OpenedSlot.self].number }

  func wasOpened(by slot: Int) { self[OpenedSlot.self].number = slot }
}

extension MemoryChange {
  package static func keySlotRemoved(_ number: Int) -> MemoryChange {
    MemoryChange { vault in
      if vault.openedSlot == number { vault[OpenedSlot.self].number = nil }
    }
  }
}
