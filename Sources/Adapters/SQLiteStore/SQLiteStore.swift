public import AgentPorts
internal import CSQLite

/// `Store` on one SQLite database in WAL mode.
///
/// Synchronous and not thread-safe: only the actor that owns it may call it.
public final class SQLiteStore: Store {
  public let databaseID: [UInt8]

  private let path: String
  private let vfs: String?
  private let reserve: Reserve
  private let repeatFile: RepeatFile
  /// Nil after `close()`, and after a failure that needs a new connection.
  private var connection: Connection?
  private var isClosed = false
  /// The number of committed batches.
  private var batches: Int64
  /// The last of them, if they are not synced yet. A failed sync may lose them.
  private var unsynced: [[StoreWrite]] = []
  /// The files of `connection`; nil on a simulated disk.
  private var files: FileIdentities?
  /// False until this process has erased what deleted rows left, and again after a failure of it: then bytes that read as
  /// erased may be so in the kernel's memory only.
  private var hasErased = false
  /// When a call last met a lock of another process, in microseconds of the monotonic clock.
  private var metLockAt: Int?

  /// How long a call waits for another process's lock. Callers that queue up behind a lock that stays wait less, so
  /// that each is answered within about a second.
  private static let patienceMilliseconds = 800
  private static let shortPatienceMilliseconds = 20
  private static let unsyncedLimit = 64

  /// Opens the database at `path`, or creates it.
  ///
  /// - Parameter vfs: the name of an SQLite file system, for simulations. Nil is the system's own: then the directory
  /// must exist with mode 0700 and belong to this user, and every file is kept at 0600.
  /// - Parameter mayCreate: false if there must be a database at `path` already: without it this throws `missing` and
  /// makes nothing.
  public init(path: String, vfs: String? = nil, mayCreate: Bool = true) throws(StoreFailure) {
    let path = vfs == nil ? try PrivateFiles(path: path, mayCreate: mayCreate).path : path
    PatientFileSystem.setPatience(milliseconds: Self.patienceMilliseconds)
    let connection = try Connection(path: path, vfs: vfs, mayCreate: mayCreate)
    (databaseID, batches) = try connection.identity()
    files = vfs == nil ? try FileIdentities(path: path) : nil
    self.path = path
    self.vfs = vfs
    self.connection = connection
    reserve = Reserve(path: path + "-reserve", vfs: vfs)
    repeatFile = RepeatFile(path: path + "-repeats", vfs: vfs)
  }

  public var repeatJournal: (any RepeatJournal)? { repeatFile }

  deinit { close() }

  public func close() {
    isClosed = true
    disconnect()
  }

  private func disconnect() {
    reserve.close()
    connection?.close()
    connection = nil
  }

  /// The connection; opens a new one if the last one was dropped.
  func opened() throws(StoreFailure) -> Connection {
    PatientFileSystem.setPatience(
      milliseconds: metLockLately ? Self.shortPatienceMilliseconds : Self.patienceMilliseconds)
    if let connection { return connection }
    guard !isClosed else { throw .closed }
    if vfs == nil { _ = try PrivateFiles(path: path, mayCreate: false) }
    let connection = try Connection(path: path, vfs: vfs)
    let (id, found) = try connection.identity()
    let lost = batches - found
    // Another file or an older copy is in its place: the agent's memory does not match it.
    guard id == databaseID, lost <= unsynced.count else { throw .corrupt }
    for batch in unsynced.suffix(Int(max(0, lost))) { try connection.write(batch, .disk) }
    // The log was synced before it was read.
    unsynced = []
    files = vfs == nil ? try FileIdentities(path: path) : nil
    batches = max(batches, found)
    self.connection = connection
    repeatFile.reopen()
    return connection
  }

  // MARK: - Writing

  public func commit(
    _ batch: [StoreWrite], _ wanted: StoreDurability, _ room: StoreRoom
  ) throws(StoreFailure) {
    guard !batch.isEmpty else { return }
    let durability = unsynced.count < Self.unsyncedLimit ? wanted : .disk
    do {
      let connection = try opened()
      try checkInPlace()
      if room == .free { try reserve.keep() }
      try connection.write(batch, durability)
    } catch .busy {
      metLockAt = PatientFileSystem.now
      throw .busy
    } catch .full where room == .reserve && reserve.release() {
      // The reserve was the last free space. The next `checkWritable` reports that it is gone.
      return try commit(batch, wanted, room)
    } catch .inputOutput {
      return try commitAgain(batch)
    }
    batches += 1
    switch durability {
    case .disk: unsynced = []
    case .kernel: unsynced.append(batch)
    }
  }

  /// After an I/O error the connection's state cannot be trusted, and a second sync would not write what the first one
  /// lost. So this opens a new connection and writes the batch again from memory, unless it has been committed.
  private func commitAgain(_ batch: [StoreWrite]) throws(StoreFailure) {
    let before = batches
    disconnect()
    let connection = try opened()
    guard batches == before else { return }
    do {
      try connection.write(batch, .disk)
    } catch {
      if error == .inputOutput { disconnect() }
      throw error
    }
    batches += 1
  }

  /// True if another process's lock was met within the last second.
  private var metLockLately: Bool { metLockAt.map { PatientFileSystem.now - $0 < 1_000_000 } ?? false }

  public func checkInPlace() throws(StoreFailure) { try files?.check() }

  public func checkWritable(bytes: Int) throws(StoreFailure) {
    _ = try opened()
    try checkInPlace()
    try reserve.secure(bytes: bytes)
  }

  public func checkpoint() {
    do throws(StoreFailure) {
      _ = try opened().truncateLog()
    } catch {
      // Its sync may have lost batches that no later one would write.
      if error == .inputOutput || !unsynced.isEmpty { disconnect() }
    }
  }

  public func eraseDeleted() throws(StoreFailure) -> Bool {
    do {
      let isErased = try opened().eraseDeleted(overwritingAll: !hasErased)
      if isErased { hasErased = true }
      return isErased
    } catch {
      hasErased = false
      // Its sync may have lost batches that no later one would write.
      if !unsynced.isEmpty { disconnect() }
      throw error
    }
  }

  public func snapshot(to path: String) throws(StoreFailure) {
    // Creates the file with mode 0600 before SQLite writes to it.
    let path = vfs == nil ? try PrivateFiles(path: path).path : path
    try opened().copy(to: path, vfs: vfs)
  }
}
