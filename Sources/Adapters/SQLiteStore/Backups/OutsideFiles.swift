public import AgentPorts
internal import Glibc

/// Backup files at paths that a person chose.
public protocol OutsideFiles: Sendable {
  /// Throws if `write` would fail for a reason that is known beforehand.
  func check(_ path: String) throws(BackupFileFailure)
  /// Copies an open store to a new file, complete and durable when this returns. Returns its size in bytes.
  func write(_ store: Int32, to path: String) throws(BackupFileFailure) -> Int
  /// Opens a store for reading.
  func open(_ path: String) throws(BackupFileFailure) -> Int32
}

/// Opened by this process itself.
public struct DirectFiles: OutsideFiles {
  public init() {}

  public func check(_ path: String) throws(BackupFileFailure) { try OutsideFile(path).checkFree() }

  public func write(_ store: Int32, to path: String) throws(BackupFileFailure) -> Int {
    guard StoreHeader(of: store) != nil else { throw .notABackup }
    return try OutsideFile(path).write(from: store)
  }

  public func open(_ path: String) throws(BackupFileFailure) -> Int32 { try OutsideFile(path).openStore() }
}
