internal import AgentPorts
internal import CSQLite

/// A prepared statement. Parameters are numbered from 1, columns from 0, as in SQLite.
final class Statement {
  private let handle: OpaquePointer

  init(_ sql: String, on connection: OpaquePointer) throws(StoreFailure) {
    var handle: OpaquePointer?
    try check(sqlite3_prepare_v3(connection, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &handle, nil))
    guard let handle else { throw .corrupt }
    self.handle = handle
  }

  deinit { sqlite3_finalize(handle) }

  func bind(_ index: Int32, _ bytes: [UInt8]) {
    bytes.withUnsafeBytes { bytes in
      _ = lanyard_sqlite3_bind_blob(handle, index, bytes.baseAddress, UInt64(bytes.count))
    }
  }

  func bind(_ index: Int32, _ number: Int64) { sqlite3_bind_int64(handle, index, number) }

  func bind(_ index: Int32, _ text: String) {
    var text = text
    text.withUTF8 { utf8 in
      _ = utf8.withMemoryRebound(to: CChar.self) { characters in
        lanyard_sqlite3_bind_text(handle, index, characters.baseAddress, UInt64(characters.count))
      }
    }
  }

  /// True if there is a row. A statement that is done or has failed holds no read transaction.
  func step() throws(StoreFailure) -> Bool {
    let code = sqlite3_step(handle)
    if code == SQLITE_ROW { return true }
    sqlite3_reset(handle)
    if code == SQLITE_DONE { return false }
    throw StoreFailure(code: code)
  }

  /// Runs a statement without rows, and clears its parameters.
  func run() throws(StoreFailure) {
    defer { reset() }
    _ = try step()
  }

  /// Ends reading and clears the parameters.
  func reset() {
    sqlite3_reset(handle)
    sqlite3_clear_bindings(handle)
  }

  func integer(_ column: Int32) -> Int64 { sqlite3_column_int64(handle, column) }

  func bytes(_ column: Int32) -> [UInt8] {
    // The pointer first: asking for it may convert the value and change its length (sqlite3_column_blob).
    let start = sqlite3_column_blob(handle, column)
    return [UInt8](UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(handle, column))))
  }

  func text(_ column: Int32) -> String {
    let start = sqlite3_column_text(handle, column)
    let bytes = UnsafeBufferPointer(start: start, count: Int(sqlite3_column_bytes(handle, column)))
    return String(decoding: bytes, as: UTF8.self)
  }
}
