internal import AgentPorts
internal import CSQLite

/// Space reserved beside the database, so that a commit succeeds on a disk that is full.
///
/// A probe that is deleted again proves nothing a moment later. A file that occupies the space does: when a commit
/// finds the disk full, the file is emptied and the commit repeated. `-reserve` is filled with random bytes, since some
/// file systems store no blocks for zeros.
final class Reserve {
  private let path: String
  private let vfs: String?
  private var file: VFSFile?

  /// For four exchanges at once (the agent's bound) with responses of 64 KiB.
  private static let leastBytes = 512 << 10
  private static let stepBytes = 64 << 10
  /// What a look whether the disk takes a write writes.
  private static let sectorBytes = 512

  init(path: String, vfs: String?) {
    self.path = path
    self.vfs = vfs
  }

  /// Upper bound of the space for a commit of so much content: its pages in the log and again in the file, and the
  /// pages of tables and indexes that it touches.
  static func room(for bytes: Int) -> Int {
    let wanted = max(leastBytes, 2 * max(bytes, 0) + (128 << 10))
    return (wanted + stepBytes - 1) / stepBytes * stepBytes
  }

  /// Ensures the space, and that the disk takes a write and a sync right now.
  func secure(bytes: Int) throws(StoreFailure) {
    do {
      try secureOnce(bytes: bytes)
    } catch {
      // A read-only disk answers a write with an I/O error, but opening with the true reason.
      file = nil
      guard error == .inputOutput else { throw error }
      try secureOnce(bytes: bytes)
    }
  }

  /// Ensures the least space, without a look whether the disk takes a write now.
  func keep() throws(StoreFailure) {
    if let size = try? opened().size(), size >= Self.leastBytes { return }
    try secure(bytes: 0)
  }

  private func secureOnce(bytes: Int) throws(StoreFailure) {
    let file = try opened()
    var size = try file.size() / Self.stepBytes * Self.stepBytes
    let room = Self.room(for: bytes)
    let memory = UnsafeMutableRawBufferPointer.allocate(
      byteCount: size < room ? Self.stepBytes : Self.sectorBytes, alignment: 16)
    defer { memory.deallocate() }
    sqlite3_randomness(Int32(memory.count), memory.baseAddress)
    try file.write(UnsafeRawBufferPointer(rebasing: memory[..<Self.sectorBytes]), at: 0)
    while size < room {
      try file.write(UnsafeRawBufferPointer(memory), at: size)
      size += memory.count
    }
    try file.sync()
  }

  /// Frees the space. False if none was reserved.
  func release() -> Bool {
    do {
      guard let file = try file ?? VFSFile(path: path, vfs: vfs, create: false), try file.size() > 0 else {
        return false
      }
      self.file = file
      try file.truncate(to: 0)
      return true
    } catch {
      return false
    }
  }

  /// Called before the database is closed.
  func close() { file = nil }

  private func opened() throws(StoreFailure) -> VFSFile {
    if let file { return file }
    guard let opened = try VFSFile(path: path, vfs: vfs, create: true) else { throw .inputOutput }
    file = opened
    return opened
  }
}
