package import AgentCore
package import AgentModel
internal import AgentPorts
package import AgentStore
package import AgentVault
internal import JSONRPC
internal import SecretJSON
internal import Secrets

extension DeclaredKind {
  /// How many operations of an account are pending. It changes when one is enqueued and when it ends: an old copy would
  /// deliver one again.
  package static let operationTally = DeclaredKind(38, under: .vault, [.counted, .answersForItself])
}

/// The operations of an account that is erased.
package struct OrphanedOperations: Sendable {
  /// The changes of their statuses.
  var told: [(name: String, status: OperationMachine.Status, previous: OperationMachine.Status)] = []
  package var records: [VaultChange] = []
  package var memory: [MemoryChange] = []

  package init(
    told: [(name: String, status: OperationMachine.Status, previous: OperationMachine.Status)] = [],
    records: [VaultChange] = [], memory: [MemoryChange] = []
  ) {
    self.told = told
    self.records = records
    self.memory = memory
  }

  package func tell(_ events: any EventPublishing, of account: AccountID) {
    for (name, status, previous) in told {
      events.publish(.operationStatusChanged(name, status, previous: previous), account: account)
    }
  }
}

/// An operation as clients see it.
package struct ToldOperation: Sendable {
  package var operation: Operation
  /// Nil of an account that was erased.
  package var content: OperationContent?
  package var answer: OperationAnswer?
  package var enqueuedAt: Timestamp
  package var updatedAt: Timestamp
  package var nextAttemptAt: Timestamp?
  package var lastErrorAt: Timestamp?
}

/// How many operations of an account are pending, and how much all of them take: known without the account's keys.
package struct OperationTally: Sendable, Hashable {
  package var pending: Int
  package var bytes: Int
  /// Those of operations that limited callers enqueued.
  var bytesOfLimitedCallers = 0
  /// The place of the last operation that was enqueued, also if it has left the list.
  var lastSequence: Int64 = 0
  /// They come from an old copy of the store, so that they may have been delivered since (docs/storage.md, Anchors).
  var isDoubtful = false

  static func place(of account: AccountID) -> [UInt8] { Array(account.text.utf8) }

  func record(of account: AccountID) -> VaultChange {
    let plain = SecretJSON.write { writer in
      writer.member("account", account.text)
      writer.member("pending", Int64(pending))
      writer.member("bytes", Int64(bytes))
      if bytesOfLimitedCallers > 0 { writer.member("limitedBytes", Int64(bytesOfLimitedCallers)) }
      writer.member("last", lastSequence)
      if isDoubtful { writer.member("doubtful", 1) }
    }
    return .put(.vault, .operationTally, id: Self.place(of: account), plain)
  }

  /// All tallies of the vault. One that does not open counts nothing until its account changes the next time.
  static func all(in records: Vault) throws(VaultFailure) -> [AccountID: OperationTally] {
    var all: [AccountID: OperationTally] = [:]
    for (_, plain) in try records.readEach(.operationTally) {
      let read = plain.flatMap { plain in
        SecretJSON.read(plain) { node -> (AccountID, OperationTally)? in
          guard let account = node["account"]?.string.flatMap({ AccountID($0) }) else { return nil }
          return (
            account,
            OperationTally(
              pending: Int(node["pending"]?.integer ?? 0), bytes: Int(node["bytes"]?.integer ?? 0),
              bytesOfLimitedCallers: Int(node["limitedBytes"]?.integer ?? 0),
              lastSequence: node["last"]?.integer ?? 0, isDoubtful: node["doubtful"] != nil)
          )
        }
      }
      if let (account, tally) = read { all[account] = tally }
    }
    return all
  }
}
