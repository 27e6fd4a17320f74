internal import AgentModel
internal import AgentPorts

/// Reads the ledger of a vault.
struct LedgerReader {
  let vault: Vault

  /// The ledger, and the marks that were damaged: the next commit writes them anew.
  func read() throws(VaultFailure) -> (VaultLedger, damaged: Set<Int>) {
    // A new vault has none: its first commit writes it.
    guard let sequence = try vault.read(.vault, .sequence) else { return (VaultLedger(), []) }
    guard let ledger = VaultLedger(sequence: sequence) else { throw .integrity }
    return try withMarks(ledger)
  }

  /// Reads the marks. Which generation the heads of a damaged mark must have is lost, so its partitions are closed for
  /// good: their accounts answer `integrity`, and a mark written anew takes the damaged one's place.
  private func withMarks(_ read: VaultLedger) throws(VaultFailure) -> (VaultLedger, damaged: Set<Int>) {
    var ledger = read
    var damaged: Set<Int> = []
    for (id, plain) in try vault.readEach(.mark) {
      if let plain, ledger.read(plain) { continue }
      guard let mark = id.first.map(Int.init), mark < VaultLedger.marks else { throw .integrity }
      damaged.insert(mark)
    }
    guard !damaged.isEmpty else { return (ledger, []) }
    for partition in try vault.onStore({ () throws(StoreFailure) in try vault.store.partitions() })
    where partition != .vault && partition != .drops && damaged.contains(VaultLedger.mark(of: partition)) {
      _ = ledger.close(partition)
    }
    return (ledger, damaged)
  }
}
