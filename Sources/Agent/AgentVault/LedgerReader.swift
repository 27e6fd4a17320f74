internal import AgentModel
internal import AgentPorts

/// Reads the ledger of a vault, or makes its first one.
struct LedgerReader {
  let vault: Vault

  /// The ledger, and the marks that were damaged: the next commit writes them anew.
  func read() throws(VaultFailure) -> (VaultLedger, damaged: Set<Int>) {
    guard let sequence = try vault.read(.vault, .sequence) else { return (try first(), []) }
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

  /// The first ledger of a new vault, or of one from before ledgers existed: it trusts the heads, this once.
  private func first() throws(VaultFailure) -> VaultLedger {
    var ledger = VaultLedger()
    for row in try vault.onStore({ () throws(StoreFailure) in try vault.store.records(kind: .head) })
    where row.key.partition != .vault && (try? vault.seals.open(head: row)) != nil {
      _ = ledger.set(row.generation, of: row.key.partition)
    }
    return ledger
  }
}
