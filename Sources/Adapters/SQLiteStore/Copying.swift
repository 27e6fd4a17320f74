internal import AgentPorts
internal import CSQLite

extension Connection {
  /// Copies the current database into a new file by SQLite's online backup API: page by page, with what is only in the
  /// log, and without a write of the store in between.
  func copy(to path: String, vfs: String?) throws(StoreFailure) {
    var opened: OpaquePointer?
    let flags =
      SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_NOMUTEX
      | SQLITE_OPEN_PRIVATECACHE | SQLITE_OPEN_EXRESCODE
    let code = sqlite3_open_v2(path, &opened, flags, vfs)
    guard let target = opened else { throw .inputOutput }
    defer { sqlite3_close_v2(target) }
    try check(code)
    // A leftover file must not be mixed into the copy.
    guard try Statement("SELECT 1 FROM sqlite_schema LIMIT 1", on: target).step() == false else { throw .corrupt }
    // A copy that a crash cuts off is thrown away, so nothing is synced.
    try check(sqlite3_exec(target, "PRAGMA synchronous = OFF; PRAGMA journal_mode = MEMORY;", nil, nil, nil))
    try copyPages(to: target)
  }

  private func copyPages(to target: OpaquePointer) throws(StoreFailure) {
    guard let backup = begin(to: target) else { throw StoreFailure(code: sqlite3_extended_errcode(target)) }
    let outcome = sqlite3_backup_step(backup, -1)
    let ending = sqlite3_backup_finish(backup)
    guard outcome == SQLITE_DONE else { throw StoreFailure(code: outcome) }
    try check(ending)
  }
}
