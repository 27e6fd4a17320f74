package import AgentModel
package import AgentPorts
package import AgentVault

/// The changes of one operation: planned against an `OpenVault` by a feature's type, committed by `VaultActor` as one
/// durable transaction. Planning is synchronous, so that no await separates a check from its write.
package struct ChangeSet<Result> {
  package var records: [VaultChange]
  /// Changes of rows that are no records, in the same transaction.
  var writes: [StoreWrite]
  /// The changes of `OpenVault` and the published tables once the transaction is durable.
  package var memory: [MemoryChange]
  /// The account that a failure of the commit names.
  var account: AccountID?
  /// The erasure of this change: noted in the transaction, wiped from the log after it.
  package var erases: Erasure?
  /// True for a sign-out, an erasure and a new PIN: a backup in progress must not contain the state before it.
  var isWithdrawal: Bool
  /// What the transaction must survive before its result is told.
  package var durability = StoreDurability.disk
  /// What the transaction may take of a disk that is full.
  private(set) var room = StoreRoom.reserve
  /// Called when everything is durable and in memory. `erased`: the accounts whose last data is erased now.
  package var result: (_ erased: [AccountID]) -> Result

  package init(
    _ records: [VaultChange], writes: [StoreWrite] = [], memory: [MemoryChange] = [], of account: AccountID? = nil,
    erasing erases: Erasure? = nil, isWithdrawal: Bool = false, result: @escaping (_ erased: [AccountID]) -> Result
  ) {
    self.records = records
    self.writes = writes
    self.memory = memory
    self.account = account
    self.erases = erases
    self.isWithdrawal = isWithdrawal
    self.result = result
  }

  package init(
    _ records: [VaultChange], writes: [StoreWrite] = [], memory: [MemoryChange] = [], of account: AccountID? = nil,
    erasing erases: Erasure? = nil, isWithdrawal: Bool = false, result: Result
  ) {
    self.init(
      records, writes: writes, memory: memory, of: account, erasing: erases, isWithdrawal: isWithdrawal,
      result: { _ in result })
  }

  /// The same, refused on a full disk: something new that a person can have stored later, or that any program can have
  /// written again and again, while the reserve is kept for tokens and for what makes less of the store.
  package var onlyIntoFreeRoom: ChangeSet {
    var changes = self
    changes.room = .free
    return changes
  }

  /// A change set without changes.
  package static func unchanged(_ result: Result) -> ChangeSet { ChangeSet([], result: result) }
}

extension ChangeSet<Void> {
  package init(
    _ records: [VaultChange], memory: [MemoryChange] = [], of account: AccountID? = nil,
    erasing erases: Erasure? = nil, isWithdrawal: Bool = false
  ) {
    self.init(records, memory: memory, of: account, erasing: erases, isWithdrawal: isWithdrawal, result: ())
  }

  package static var unchanged: ChangeSet { .unchanged(()) }
}

/// The target of an erasure.
package enum Erasure {
  case account(AccountID)
  /// Values of an account that stays, or a token.
  case values
}
