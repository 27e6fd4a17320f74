internal import AgentPorts
internal import CSQLite

extension StoreFailure {
  /// Translates an SQLite result code.
  init(code: Int32) {
    switch code & 0xff {
    case SQLITE_FULL: self = .full
    case SQLITE_READONLY: self = .readOnly
    case SQLITE_BUSY, SQLITE_LOCKED, SQLITE_PROTOCOL: self = .busy
    // SQLITE_ERROR from a fixed statement means that the schema is not the store's.
    case SQLITE_CORRUPT, SQLITE_NOTADB, SQLITE_ERROR, SQLITE_CONSTRAINT, SQLITE_MISMATCH: self = .corrupt
    case SQLITE_PERM, SQLITE_AUTH: self = .unsafePermissions
    case SQLITE_CANTOPEN where code == SQLITE_CANTOPEN | (6 << 8): self = .unsafePermissions  // SQLITE_CANTOPEN_SYMLINK
    default: self = .inputOutput
    }
  }
}

/// Throws for every result code except `SQLITE_OK`.
func check(_ code: Int32) throws(StoreFailure) {
  if code != SQLITE_OK { throw StoreFailure(code: code) }
}
