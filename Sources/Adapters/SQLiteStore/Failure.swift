internal import AgentPorts
internal import CSQLite

extension StoreFailure {
  /// What an SQLite result code means to the agent.
  init(code: Int32) {
    switch code & 0xff {
    case SQLITE_FULL: self = .full
    case SQLITE_READONLY: self = .readOnly
    case SQLITE_BUSY, SQLITE_LOCKED, SQLITE_PROTOCOL: self = .busy
    // SQLITE_ERROR from a fixed statement says that the schema is not the one we made.
    case SQLITE_CORRUPT, SQLITE_NOTADB, SQLITE_ERROR, SQLITE_CONSTRAINT, SQLITE_MISMATCH: self = .corrupt
    case SQLITE_PERM, SQLITE_AUTH: self = .unsafePermissions
    case SQLITE_CANTOPEN where code == SQLITE_CANTOPEN | (6 << 8): self = .unsafePermissions  // SQLITE_CANTOPEN_SYMLINK
    default: self = .inputOutput
    }
  }
}

/// Throws what a result code other than `SQLITE_OK` means.
func check(_ code: Int32) throws(StoreFailure) {
  if code != SQLITE_OK { throw StoreFailure(code: code) }
}
