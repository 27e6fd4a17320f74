internal import AgentModel
public import AgentPorts

extension SQLiteStore {
  public func metadata(_ name: String) throws(StoreFailure) -> [UInt8]? {
    let statement = try opened().statement("SELECT value FROM metadata WHERE name = ?1")
    defer { statement.reset() }
    statement.bind(1, name)
    return try statement.step() ? statement.bytes(0) : nil
  }

  public func keySlots() throws(StoreFailure) -> [KeySlotRow] {
    let statement = try opened().statement(
      """
      SELECT number, protection, parameters, commitment, keyEpoch, wrappedRootKey
      FROM keySlot
      ORDER BY number
      """)
    defer { statement.reset() }
    var slots: [KeySlotRow] = []
    while try statement.step() {
      slots.append(
        KeySlotRow(
          number: Int(statement.integer(0)), protection: statement.text(1), parameters: statement.bytes(2),
          commitment: statement.bytes(3), keyEpoch: statement.unsigned(4), wrappedRootKey: statement.bytes(5)))
    }
    return slots
  }

  public func record(_ key: RecordKey) throws(StoreFailure) -> SealedRecord? {
    let statement = try opened().statement(
      """
      SELECT partition, kind, id, schema, keyEpoch, generation, sealed
      FROM record
      WHERE partition = ?1 AND kind = ?2 AND id = ?3
      """)
    defer { statement.reset() }
    statement.bind(key)
    return try statement.step() ? statement.record() : nil
  }

  public func records(in partition: PartitionID) throws(StoreFailure) -> [SealedRecord] {
    let statement = try opened().statement(
      """
      SELECT partition, kind, id, schema, keyEpoch, generation, sealed
      FROM record
      WHERE partition = ?1
      ORDER BY kind, id
      """)
    defer { statement.reset() }
    statement.bind(1, partition.bytes)
    return try statement.records()
  }

  public func records(in partition: PartitionID, kind: RecordKind) throws(StoreFailure) -> [SealedRecord] {
    let statement = try opened().statement(
      """
      SELECT partition, kind, id, schema, keyEpoch, generation, sealed
      FROM record
      WHERE partition = ?1 AND kind = ?2
      ORDER BY id
      """)
    defer { statement.reset() }
    statement.bind(1, partition.bytes)
    statement.bind(2, Int64(kind.rawValue))
    return try statement.records()
  }

  public func records(kind: RecordKind) throws(StoreFailure) -> [SealedRecord] {
    var records: [SealedRecord] = []
    try forEachRecord(of: kind) { records.append($0) }
    return records
  }

  public func forEachRecord(of kind: RecordKind, _ body: (SealedRecord) -> Void) throws(StoreFailure) {
    let statement = try opened().statement(
      """
      SELECT partition, kind, id, schema, keyEpoch, generation, sealed
      FROM record
      WHERE kind = ?1
      """)
    defer { statement.reset() }
    statement.bind(1, Int64(kind.rawValue))
    while try statement.step() { body(statement.record()) }
  }

  public func partitions() throws(StoreFailure) -> [PartitionID] {
    let statement = try opened().statement("SELECT DISTINCT partition FROM record ORDER BY partition")
    defer { statement.reset() }
    var partitions: [PartitionID] = []
    while try statement.step() { partitions.append(statement.partition(0)) }
    return partitions
  }

  public func auditRows(after sequence: Int64, limit: Int) throws(StoreFailure) -> [AuditRow] {
    let statement = try opened().statement(
      """
      SELECT 0 AS ring, sequence, keyEpoch, link, sealed FROM audit WHERE sequence > ?1
      UNION ALL
      SELECT 1, sequence, keyEpoch, link, sealed FROM auditDecision WHERE sequence > ?1
      ORDER BY sequence, ring
      LIMIT ?2
      """)
    defer { statement.reset() }
    statement.bind(1, sequence)
    statement.bind(2, Int64(limit))
    var rows: [AuditRow] = []
    while try statement.step() {
      rows.append(
        AuditRow(
          ring: statement.integer(0) == 0 ? .security : .decisions, sequence: statement.integer(1),
          keyEpoch: statement.unsigned(2), link: statement.bytes(3), sealed: statement.bytes(4)))
    }
    return rows
  }

  public func integrityProblems() throws(StoreFailure) -> [String] {
    let statement = try opened().statement("PRAGMA integrity_check(100)")
    defer { statement.reset() }
    var problems: [String] = []
    while try statement.step() { problems.append(statement.text(0)) }
    return problems == ["ok"] ? [] : problems
  }
}

extension Connection {
  /// The database's id and its number of committed batches.
  func identity() throws(StoreFailure) -> (databaseID: [UInt8], batches: Int64) {
    let statement = try statement("SELECT databaseID, batches FROM store WHERE one = 1")
    defer { statement.reset() }
    guard try statement.step() else { throw .corrupt }
    return (statement.bytes(0), statement.integer(1))
  }
}

extension Statement {
  /// A number column. A damaged file can hold any value: one out of range becomes a number that no record has, so that
  /// only this row fails to open.
  func unsigned<Number: FixedWidthInteger & UnsignedInteger>(_ column: Int32) -> Number {
    Number(exactly: integer(column)) ?? .max
  }

  /// A partition column; a malformed value becomes a partition that does not exist.
  func partition(_ column: Int32) -> PartitionID {
    PartitionID(bytes: bytes(column)) ?? PartitionID(bytes: [UInt8](repeating: .max, count: PartitionID.byteCount))!
  }

  /// The columns of every query over records, in this order.
  func record() -> SealedRecord {
    SealedRecord(
      key: RecordKey(
        partition: partition(0), kind: RecordKind(rawValue: unsigned(1)), id: bytes(2)),
      schema: unsigned(3), keyEpoch: unsigned(4), generation: UInt64(bitPattern: integer(5)),
      sealed: bytes(6))
  }

  func records() throws(StoreFailure) -> [SealedRecord] {
    var records: [SealedRecord] = []
    while try step() { records.append(record()) }
    return records
  }
}
