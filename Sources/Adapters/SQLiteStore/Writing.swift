internal import AgentModel
internal import AgentPorts

extension Connection {
  /// Applies a batch in one transaction: all of it or nothing.
  func write(_ batch: [StoreWrite], _ durability: StoreDurability) throws(StoreFailure) {
    try use(durability)
    try statement("BEGIN IMMEDIATE").run()
    do throws(StoreFailure) {
      for write in batch { try apply(write) }
      try statement("UPDATE store SET batches = batches + 1").run()
      try statement("COMMIT").run()
    } catch {
      // Some failures roll back by themselves (sqlite3_get_autocommit).
      if isInTransaction { try? statement("ROLLBACK").run() }
      throw error
    }
  }

  private func apply(_ write: StoreWrite) throws(StoreFailure) {
    switch write {
    case .put(let record): try put(record)
    case .delete(let key):
      let statement = try statement("DELETE FROM record WHERE partition = ?1 AND kind = ?2 AND id = ?3")
      statement.bind(key)
      try statement.run()
    case .deletePartition(let partition):
      let statement = try statement("DELETE FROM record WHERE partition = ?1")
      statement.bind(1, partition.bytes)
      try statement.run()
    case .putMetadata(let name, let value):
      let statement = try statement(
        """
        INSERT INTO metadata (name, value) VALUES (?1, ?2)
        ON CONFLICT (name) DO UPDATE SET value = excluded.value
        """)
      statement.bind(1, name)
      statement.bind(2, value)
      try statement.run()
    case .deleteMetadata(let name):
      let statement = try statement("DELETE FROM metadata WHERE name = ?1")
      statement.bind(1, name)
      try statement.run()
    case .putKeySlot(let slot): try put(slot)
    case .deleteKeySlot(let number):
      let statement = try statement("DELETE FROM keySlot WHERE number = ?1")
      statement.bind(1, Int64(number))
      try statement.run()
    case .appendAudit(let row): try append(row)
    case .deleteAudit(let ring, let sequence):
      let statement = try statement(
        ring == .security
          ? "DELETE FROM audit WHERE sequence <= ?1" : "DELETE FROM auditDecision WHERE sequence <= ?1")
      statement.bind(1, sequence)
      try statement.run()
    }
  }

  private func append(_ row: AuditRow) throws(StoreFailure) {
    // A number is of one entry in both rings.
    let other = try statement(
      row.ring == .security ? "DELETE FROM auditDecision WHERE sequence = ?1" : "DELETE FROM audit WHERE sequence = ?1")
    other.bind(1, row.sequence)
    try other.run()
    let statement = try statement(
      row.ring == .security
        ? "INSERT OR REPLACE INTO audit (sequence, keyEpoch, link, sealed) VALUES (?1, ?2, ?3, ?4)"
        : "INSERT OR REPLACE INTO auditDecision (sequence, keyEpoch, link, sealed) VALUES (?1, ?2, ?3, ?4)")
    statement.bind(1, row.sequence)
    statement.bind(2, Int64(row.keyEpoch))
    statement.bind(3, row.link)
    statement.bind(4, row.sealed)
    try statement.run()
  }

  private func put(_ record: SealedRecord) throws(StoreFailure) {
    // An UPDATE and not a REPLACE: the row keeps its rowid, and the indexes are not written.
    let statement = try statement(
      """
      INSERT INTO record (partition, kind, id, schema, keyEpoch, generation, sealed)
      VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
      ON CONFLICT (partition, kind, id) DO UPDATE SET
        schema = excluded.schema, keyEpoch = excluded.keyEpoch, generation = excluded.generation,
        sealed = excluded.sealed
      """)
    statement.bind(record.key)
    statement.bind(4, Int64(record.schema))
    statement.bind(5, Int64(record.keyEpoch))
    statement.bind(6, Int64(bitPattern: record.generation))
    statement.bind(7, record.sealed)
    try statement.run()
  }

  private func put(_ slot: KeySlotRow) throws(StoreFailure) {
    let statement = try statement(
      """
      INSERT INTO keySlot (number, protection, parameters, commitment, keyEpoch, wrappedRootKey)
      VALUES (?1, ?2, ?3, ?4, ?5, ?6)
      ON CONFLICT (number) DO UPDATE SET
        protection = excluded.protection, parameters = excluded.parameters, commitment = excluded.commitment,
        keyEpoch = excluded.keyEpoch, wrappedRootKey = excluded.wrappedRootKey
      """)
    statement.bind(1, Int64(slot.number))
    statement.bind(2, slot.protection)
    statement.bind(3, slot.parameters)
    statement.bind(4, slot.commitment)
    statement.bind(5, Int64(slot.keyEpoch))
    statement.bind(6, slot.wrappedRootKey)
    try statement.run()
  }
}

extension Statement {
  /// Binds the record's key to parameters 1 to 3.
  func bind(_ key: RecordKey) {
    bind(1, key.partition.bytes)
    bind(2, Int64(key.kind.rawValue))
    bind(3, key.id)
  }
}
