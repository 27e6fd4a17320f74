internal import AgentPorts
internal import SQLiteStore
internal import StorageFaults
internal import Synchronization

/// Counts commits, and ends the process just before or just after one of them.
final class CommitPlan: Sendable {
  private struct State {
    var commits = 0
    var deaths: [CommitMoment] = []
    var failures: [Int: StoreFailure] = [:]
    var logIsHeld = false
  }
  private let state = Mutex(State())

  var commits: Int { state.withLock { $0.commits } }

  func die(_ moment: CommitMoment) {
    state.withLock { state in
      switch moment {
      case .before(let number): state.deaths.append(.before(state.commits + number))
      case .after(let number): state.deaths.append(.after(state.commits + number))
      }
    }
  }

  func fail(_ number: Int, with failure: StoreFailure) {
    state.withLock { $0.failures[$0.commits + number] = failure }
  }

  /// Another program holds a read transaction: the log cannot be emptied.
  var logIsHeld: Bool {
    get { state.withLock { $0.logIsHeld } }
    set { state.withLock { $0.logIsHeld = newValue } }
  }

  var hasPlans: Bool { state.withLock { !$0.deaths.isEmpty || !$0.failures.isEmpty } }

  func clear() {
    state.withLock { state in
      state.deaths = []
      state.failures = [:]
    }
  }

  /// The number of the next commit, and the plan for it.
  func next() -> (diesBefore: Bool, diesAfter: Bool, failure: StoreFailure?) {
    state.withLock { state in
      state.commits += 1
      let number = state.commits
      return (
        state.deaths.contains(.before(number)), state.deaths.contains(.after(number)),
        state.failures.removeValue(forKey: number)
      )
    }
  }
}

/// A moment between two commits, counted from 1 when it is planned.
public enum CommitMoment: Sendable, Hashable {
  /// The process dies instead of the commit.
  case before(Int)
  /// The commit has returned, and the process dies right after it.
  case after(Int)
}

/// The real store for one process. The process dies here, if the disk or the plan kills it.
final class ProcessStore: Store {
  let databaseID: [UInt8]
  private let inner: SQLiteStore
  private let plan: CommitPlan
  private let life: ProcessLife
  private let diskDied: @Sendable () -> Bool

  init(inner: sending SQLiteStore, plan: CommitPlan, life: ProcessLife, diskDied: @escaping @Sendable () -> Bool) {
    databaseID = inner.databaseID
    self.inner = inner
    self.plan = plan
    self.life = life
    self.diskDied = diskDied
  }

  private func call<Result>(_ body: (SQLiteStore) throws(StoreFailure) -> Result) throws(StoreFailure) -> Result {
    guard life.isAlive else {
      inner.close()
      throw .closed
    }
    defer { if diskDied() { die() } }
    return try body(inner)
  }

  private func die() {
    inner.close()
    life.end()
  }

  func checkpoint() { try? call { store throws(StoreFailure) in store.checkpoint() } }

  func metadata(_ name: String) throws(StoreFailure) -> [UInt8]? {
    try call { (store) throws(StoreFailure) in try store.metadata(name) }
  }

  func auditRows(after sequence: Int64, limit: Int) throws(StoreFailure) -> [AuditRow] {
    try call { (store) throws(StoreFailure) in try store.auditRows(after: sequence, limit: limit) }
  }

  func keySlots() throws(StoreFailure) -> [KeySlotRow] {
    try call { (store) throws(StoreFailure) in try store.keySlots() }
  }

  func record(_ key: RecordKey) throws(StoreFailure) -> SealedRecord? {
    try call { (store) throws(StoreFailure) in try store.record(key) }
  }

  func records(in partition: PartitionID) throws(StoreFailure) -> [SealedRecord] {
    try call { (store) throws(StoreFailure) in try store.records(in: partition) }
  }

  func records(in partition: PartitionID, kind: RecordKind) throws(StoreFailure) -> [SealedRecord] {
    try call { (store) throws(StoreFailure) in try store.records(in: partition, kind: kind) }
  }

  func records(kind: RecordKind) throws(StoreFailure) -> [SealedRecord] {
    try call { (store) throws(StoreFailure) in try store.records(kind: kind) }
  }

  func forEachRecord(of kind: RecordKind, _ body: (SealedRecord) -> Void) throws(StoreFailure) {
    try call { (store) throws(StoreFailure) in try store.forEachRecord(of: kind, body) }
  }

  func partitions() throws(StoreFailure) -> [PartitionID] {
    try call { (store) throws(StoreFailure) in try store.partitions() }
  }

  func commit(_ batch: [StoreWrite], _ durability: StoreDurability, _ room: StoreRoom) throws(StoreFailure) {
    guard life.isAlive, !batch.isEmpty else {
      return try call { (store) throws(StoreFailure) in try store.commit(batch, durability, room) }
    }
    let planned = plan.next()
    if planned.diesBefore {
      die()
      throw .closed
    }
    if let failure = planned.failure { throw failure }
    try call { (store) throws(StoreFailure) in try store.commit(batch, durability, room) }
    if planned.diesAfter {
      die()
      throw .closed
    }
  }

  func checkWritable(bytes: Int) throws(StoreFailure) {
    try call { (store) throws(StoreFailure) in try store.checkWritable(bytes: bytes) }
  }

  func eraseDeleted() throws(StoreFailure) -> Bool {
    guard !plan.logIsHeld else { return false }
    return try call { (store) throws(StoreFailure) in try store.eraseDeleted() }
  }

  func integrityProblems() throws(StoreFailure) -> [String] {
    try call { (store) throws(StoreFailure) in try store.integrityProblems() }
  }

  func snapshot(to path: String) throws(StoreFailure) {
    try call { (store) throws(StoreFailure) in try store.snapshot(to: path) }
  }

  var repeatJournal: (any RepeatJournal)? {
    inner.repeatJournal.map { ProcessJournal(inner: $0, life: life) }
  }

  func close() { inner.close() }
}

/// The journal of one process: a dead process writes nothing.
private struct ProcessJournal: RepeatJournal {
  let inner: any RepeatJournal
  let life: ProcessLife

  func write(_ bytes: [UInt8], slot: Int) -> Bool { life.isAlive && inner.write(bytes, slot: slot) }

  func read() -> [[UInt8]]? { inner.read() }
}
