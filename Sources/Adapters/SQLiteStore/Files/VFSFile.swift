internal import AgentPorts
internal import CSQLite

/// A file beside the database, opened through SQLite's file system layer, so that the installed VFS (the unix one, a
/// disk that fails on demand) sees every access.
final class VFSFile {
  private let file: UnsafeMutablePointer<sqlite3_file>
  private let name: VFSName
  private var methods: sqlite3_io_methods { file.pointee.pMethods.pointee }

  /// Opens for reading and writing; nil if the file does not exist and `create` is false.
  init?(path: String, vfs: String?, create: Bool) throws(StoreFailure) {
    guard let system = sqlite3_vfs_find(vfs) else { throw .inputOutput }
    var exists: Int32 = 0
    if !create {
      try check(system.pointee.xAccess(system, path, SQLITE_ACCESS_EXISTS, &exists))
      guard exists != 0 else { return nil }
    }
    name = VFSName(path)
    let size = Int(system.pointee.szOsFile)
    let memory = UnsafeMutableRawPointer.allocate(byteCount: size, alignment: 16)
    memory.initializeMemory(as: UInt8.self, repeating: 0, count: size)
    file = memory.assumingMemoryBound(to: sqlite3_file.self)
    // This file type takes its mode from the database (0600), and its directory is synced after creation.
    let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_MAIN_JOURNAL | (create ? SQLITE_OPEN_CREATE : 0)
    var outcome: Int32 = 0
    let code = system.pointee.xOpen(system, name.start, file, flags, &outcome)
    guard code == SQLITE_OK else {
      file.pointee.pMethods = nil  // whether it is set or not, there is nothing to close
      throw StoreFailure(code: code)
    }
    // If writing is refused, the unix VFS opens for reading.
    if outcome & SQLITE_OPEN_READONLY != 0 { throw .readOnly }
  }

  deinit {
    if file.pointee.pMethods != nil { _ = methods.xClose(file) }
    UnsafeMutableRawPointer(file).deallocate()
  }

  func size() throws(StoreFailure) -> Int {
    var size: sqlite3_int64 = 0
    try check(methods.xFileSize(file, &size))
    return Int(size)
  }

  func read(_ buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws(StoreFailure) {
    try check(methods.xRead(file, buffer.baseAddress, Int32(buffer.count), Int64(offset)))
  }

  func write(_ buffer: UnsafeRawBufferPointer, at offset: Int) throws(StoreFailure) {
    try check(methods.xWrite(file, buffer.baseAddress, Int32(buffer.count), Int64(offset)))
  }

  func truncate(to size: Int) throws(StoreFailure) { try check(methods.xTruncate(file, Int64(size))) }

  func sync() throws(StoreFailure) { try check(methods.xSync(file, SQLITE_SYNC_NORMAL)) }
}

/// A file name in the form of `xOpen` (sqlite3_create_filename), valid as long as the file is open.
final class VFSName {
  let start: UnsafePointer<CChar>?

  init(_ path: String) { start = UnsafePointer(sqlite3_create_filename(path, "", "", 0, nil)) }

  deinit { sqlite3_free_filename(start) }
}
