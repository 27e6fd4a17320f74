public import AgentPorts
internal import CSQLite

/// `Store` on one SQLite database in WAL mode.
///
/// Synchronous and not thread-safe: the one actor that owns it calls it.
public final class SQLiteStore: Store {
  public let databaseID: [UInt8]

  private let path: String
  private let vfs: String?
  private let reserve: Reserve
  /// Nil after a failure that only opening again can mend, and after `close()`.
  private var connection: Connection?
  private var isClosed = false
  /// How many batches the database had when it was last asked.
  private var batches: Int64

  /// Opens the database at `path`, or creates it.
  ///
  /// - Parameter vfs: an SQLite file system of that name, for simulations; with the system's own (nil) the directory
  ///   must exist with mode 0700 and belong to this user, and every file is kept at 0600.
  public init(path: String, vfs: String? = nil) throws(StoreFailure) {
    let path = vfs == nil ? try PrivateFiles(path: path).path : path
    let connection = try Connection(path: path, vfs: vfs)
    (databaseID, batches) = try connection.identity()
    self.path = path
    self.vfs = vfs
    self.connection = connection
    reserve = Reserve(path: path + "-reserve", vfs: vfs)
  }

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

  /// The connection, opened again if the last one was given up.
  func opened() throws(StoreFailure) -> Connection {
    if let connection { return connection }
    guard !isClosed else { throw .closed }
    if vfs == nil { _ = try PrivateFiles(path: path) }
    let connection = try Connection(path: path, vfs: vfs)
    let (id, batches) = try connection.identity()
    // Another file in this one's place, or an older copy of it: not what the agent's memory was built from.
    guard id == databaseID, batches >= self.batches else { throw .corrupt }
    self.batches = batches
    self.connection = connection
    return connection
  }

  // MARK: - Writing

  public func commit(_ batch: [StoreWrite]) throws(StoreFailure) {
    guard !batch.isEmpty else { return }
    do {
      try opened().write(batch)
    } catch .full where reserve.release() {
      // The disk has no other room left. The next `checkWritable` says that this is gone too.
      return try commit(batch)
    } catch .inputOutput {
      return try commitAgain(batch)
    }
    batches += 1
  }

  /// After an I/O error nothing that the connection holds can be trusted, least of all that a second sync would carry
  /// over what the first one lost: a new connection, and the batch again from memory unless it has landed.
  private func commitAgain(_ batch: [StoreWrite]) throws(StoreFailure) {
    let before = batches
    disconnect()
    let connection = try opened()
    guard batches == before else { return }
    do {
      try connection.write(batch)
    } catch {
      if error == .inputOutput { disconnect() }
      throw error
    }
    batches += 1
  }

  public func checkWritable(bytes: Int) throws(StoreFailure) {
    _ = try opened()
    try reserve.secure(bytes: bytes)
  }

  public func truncateLog() throws(StoreFailure) -> Bool { try opened().truncateLog() }

  public func snapshot(to path: String) throws(StoreFailure) {
    // Made with mode 0600 before SQLite writes a byte into it.
    let path = vfs == nil ? try PrivateFiles(path: path).path : path
    try opened().copy(to: path, vfs: vfs)
  }
}
