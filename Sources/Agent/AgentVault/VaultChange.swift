package import AgentPorts
package import Secrets

/// One change of the vault's content; a list of them is one durable transaction.
package enum VaultChange: Sendable {
  case put(PartitionID, DeclaredKind, id: [UInt8] = [], Secret)
  case delete(PartitionID, DeclaredKind, id: [UInt8] = [])
  /// Destroys the keys of an incarnation with all its rows.
  case destroy(PartitionID)
  /// Appends to the audit log.
  case audit(AuditAppend)
  /// From here on the data key exists only where a step-up has wrapped it.
  case lockData(PartitionID)
  case unlockData(PartitionID, SealingKey)
  /// Replaces a data key that is lost: what it sealed goes.
  case renewData(PartitionID)
  /// Seals a partition under the current root key, if it is under the previous one.
  case reseal(PartitionID)

  /// Takes the next count of the ledger, so that another copy of the store shows itself (`Vault.isNewest`).
  case claim

  /// Takes in the repeats that were counted beside the log, and says how repeats are counted from now on.
  case repeats(RepeatCounting)

  package var auditEntry: AuditAppend? { if case .audit(let entry) = self { entry } else { nil } }

  /// An old copy of the store must not undo it (`VaultLedger`). What is written many times an hour and only ever
  /// narrows, as time does, is not counted: the anchor costs as much as the commit.
  var isCounted: Bool {
    switch self {
    case .put(_, let kind, _, _), .delete(_, let kind, _): kind.isCounted
    case .destroy, .lockData, .unlockData, .renewData, .reseal, .claim: true
    case .audit, .repeats: false
    }
  }
}

/// How repeats of decisions are counted after a commit (docs/storage.md, Repeats in a batch).
package enum RepeatCounting: Sendable, Hashable {
  /// As before it.
  case unchanged
  /// Beside the log, in this boot of the machine.
  case inJournal(boot: String)
  /// Each by a commit.
  case inLog
}
