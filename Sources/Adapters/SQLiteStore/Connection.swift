internal import AgentPorts
internal import CSQLite

/// One SQLite connection with the settings of the store, and the statements prepared on it.
package final class Connection {
  private let handle: OpaquePointer
  private var statements: [String: Statement] = [:]
  /// What commits survive now; nil after a failed change of it.
  private var durability: StoreDurability?

  /// Pages of 4 KiB after which a commit checkpoints the WAL: at 1 MiB the log stays small, and its checkpoint (two
  /// more syncs) rare.
  private static let checkpointPages = 256
  /// What a log of so many pages and one commit takes: a smaller limit cuts it at each checkpoint, and the next commits
  /// wait until the file system has made it longer again.
  private static let logBytes = checkpointPages * 4_096 * 5 / 4  // a quarter for the commit
  private static let busyTimeoutMilliseconds: Int32 = 200

  /// Opens or creates the database and brings its schema up to date.
  ///
  /// - Parameter mayCreate: false to throw `missing` for an empty database, as one is whose log was cut or lost before its
  ///   first checkpoint.
  init(path: String, vfs: String?, mayCreate: Bool = true) throws(StoreFailure) {
    try makeLogDurable(path: path + "-wal", vfs: vfs)
    var opened: OpaquePointer?
    let flags =
      SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_NOMUTEX
      | SQLITE_OPEN_PRIVATECACHE | SQLITE_OPEN_EXRESCODE
    let code = sqlite3_open_v2(path, &opened, flags, vfs ?? PatientFileSystem.name)
    guard let opened else { throw .inputOutput }
    handle = opened
    do throws(StoreFailure) {
      try check(code)
      if sqlite3_db_readonly(handle, "main") == 1 { throw StoreFailure.readOnly }
      try distrust()
      let isNew = try identify()
      guard mayCreate || !isNew else { throw StoreFailure.missing }
      try configure()
      try migrate(isNew: isNew)
      try requireShape()
    } catch {
      close()
      throw error
    }
  }

  deinit { close() }

  private var isClosed = false

  /// Closing the last connection checkpoints the WAL and removes it.
  func close() {
    guard !isClosed else { return }
    isClosed = true
    statements.removeAll()
    sqlite3_close_v2(handle)
  }

  /// A cached statement, ready to be bound.
  func statement(_ sql: String) throws(StoreFailure) -> Statement {
    if let statement = statements[sql] { return statement }
    let statement = try Statement(sql, on: handle)
    statements[sql] = statement
    return statement
  }

  /// Runs statements whose rows, if any, are ignored.
  func execute(_ sql: String) throws(StoreFailure) { try check(sqlite3_exec(handle, sql, nil, nil, nil)) }

  /// The first column of the first row.
  func integer(_ sql: String) throws(StoreFailure) -> Int64 {
    let statement = try Statement(sql, on: handle)
    guard try statement.step() else { throw .corrupt }
    return statement.integer(0)
  }

  /// Commits that follow survive this much. In WAL mode `synchronous = NORMAL` omits the sync of the log at a commit.
  ///
  /// Such a commit must not begin a checkpoint: SQLite ignores that its sync of the log failed, and after a failed sync
  /// no later one writes those frames.
  func use(_ wanted: StoreDurability) throws(StoreFailure) {
    guard wanted != durability else { return }
    durability = nil
    switch wanted {
    case .disk:
      try execute("PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = \(Self.checkpointPages)")
    case .kernel: try execute("PRAGMA wal_autocheckpoint = 0; PRAGMA synchronous = NORMAL")
    }
    durability = wanted
  }

  var isInTransaction: Bool { sqlite3_get_autocommit(handle) == 0 }

  /// Checkpoints the WAL and truncates it. False if a reader or another connection prevents it.
  func truncateLog() throws(StoreFailure) -> Bool {
    let code = sqlite3_wal_checkpoint_v2(handle, "main", SQLITE_CHECKPOINT_TRUNCATE, nil, nil)
    if code & 0xff == SQLITE_BUSY || code & 0xff == SQLITE_LOCKED { return false }
    try check(code)
    return true
  }

  /// An open file of the database, by the code that asks SQLite for it; nil if there is none.
  func file(_ which: Int32) throws(StoreFailure) -> UnsafeMutablePointer<sqlite3_file>? {
    var file: UnsafeMutablePointer<sqlite3_file>?
    try check(sqlite3_file_control(handle, "main", which, &file))
    return file
  }

  /// Drops the pages that no statement uses: they are read again from the file.
  func releaseCachedPages() { sqlite3_db_release_memory(handle) }

  /// Begins to copy everything into another connection's database (sqlite3_backup_init); nil if SQLite refuses.
  func begin(to target: OpaquePointer) -> OpaquePointer? { sqlite3_backup_init(target, "main", handle, "main") }

  /// Other programs can write to the file: no schema in it may run code.
  private func distrust() throws(StoreFailure) {
    sqlite3_limit(handle, SQLITE_LIMIT_ATTACHED, 0)
    for (option, on) in [
      (SQLITE_DBCONFIG_DEFENSIVE, 1), (SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0), (SQLITE_DBCONFIG_ENABLE_TRIGGER, 0),
      (SQLITE_DBCONFIG_ENABLE_VIEW, 0), (SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0), (SQLITE_DBCONFIG_DQS_DDL, 0),
      (SQLITE_DBCONFIG_DQS_DML, 0), (SQLITE_DBCONFIG_WRITABLE_SCHEMA, 0),
    ] as [(Int32, Int32)] {
      try check(lanyard_sqlite3_switch(handle, option, on))
    }
    sqlite3_busy_timeout(handle, Self.busyTimeoutMilliseconds)
    try execute(
      """
      PRAGMA trusted_schema = OFF;
      PRAGMA cell_size_check = ON;
      PRAGMA mmap_size = 0;
      PRAGMA temp_store = MEMORY;
      PRAGMA cache_size = -256;
      PRAGMA foreign_keys = ON;
      """)
  }

  /// Checks before the first write that the file is a store of this agent, or empty.
  private func identify() throws(StoreFailure) -> Bool {
    let id = try integer("PRAGMA application_id")
    let version = try integer("PRAGMA user_version")
    if id == StoreHeader.applicationID {
      if version > Int64(Migration.all.count) { throw .newerSchema(found: Int(version), known: Migration.all.count) }
      if version < 0 { throw .corrupt }
      return false
    }
    // A first start that died early leaves an empty database.
    guard id == 0, version == 0, try integer("SELECT count(*) FROM sqlite_schema") == 0 else { throw .corrupt }
    return true
  }

  private func configure() throws(StoreFailure) {
    let mode = try Statement("PRAGMA journal_mode = WAL", on: handle)
    guard try mode.step(), mode.text(0) == "wal" else { throw .inputOutput }
    mode.reset()
    try use(.disk)
    try execute(
      """
      PRAGMA secure_delete = ON;
      PRAGMA journal_size_limit = \(Self.logBytes);
      """)
  }

  /// A missing table or index fails here, not in the first write that needs it.
  private func requireShape() throws(StoreFailure) {
    let names = try Statement("SELECT name FROM sqlite_schema", on: handle)
    var missing = Migration.objects
    while try names.step() { missing.remove(names.text(0)) }
    guard missing.isEmpty else { throw .corrupt }
  }

  private func migrate(isNew: Bool) throws(StoreFailure) {
    let version = isNew ? 0 : Int(try integer("PRAGMA user_version"))
    guard version < Migration.all.count else { return }
    // One transaction: a start that dies half way leaves the old version.
    try execute("BEGIN IMMEDIATE")
    do throws(StoreFailure) {
      for migration in Migration.all[version...] { try execute(migration.sql) }
      try execute("PRAGMA application_id = \(StoreHeader.applicationID); PRAGMA user_version = \(Migration.all.count);")
      try execute("COMMIT")
    } catch {
      if isInTransaction { try? execute("ROLLBACK") }
      throw error
    }
  }
}
