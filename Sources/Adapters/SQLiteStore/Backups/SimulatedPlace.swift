internal import AgentPorts

/// The counterpart of `OutsideFile` on a simulated disk: the same promises, without a real file system.
enum SimulatedPlace {
  static func check(_ path: String, _ vfs: String) throws(BackupFileFailure) {
    guard path.hasPrefix("/"), path.last != "/" else { throw .noPath }
    if try file(path, vfs) != nil { throw .exists }
  }

  static func checkIsStore(_ path: String, _ vfs: String) throws(BackupFileFailure) {
    guard let file = try file(path, vfs) else { throw .notFound }
    let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: StoreHeader.byteCount, alignment: 16)
    defer { bytes.deallocate() }
    let size: Int
    do throws(StoreFailure) {
      bytes.initializeMemory(as: UInt8.self, repeating: 0)
      size = try file.size()
      if size >= bytes.count { try file.read(bytes, at: 0) }
    } catch {
      throw .store(error)
    }
    guard let header = StoreHeader([UInt8](bytes)) else { throw .notABackup }
    guard header.isEnd(size) else { throw .store(.corrupt) }
  }

  static func copy(_ source: String, to path: String, _ vfs: String) throws(BackupFileFailure) -> Int {
    if path.hasPrefix("/") { try check(path, vfs) }
    do throws(StoreFailure) {
      guard let from = try VFSFile(path: source, vfs: vfs, create: false),
        let file = try VFSFile(path: path, vfs: vfs, create: true)
      else { throw .inputOutput }
      let size = try from.size()
      let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: max(size, 1), alignment: 16)
      defer { memory.deallocate() }
      let all = UnsafeMutableRawBufferPointer(rebasing: memory[..<size])
      try from.read(all, at: 0)
      try file.write(UnsafeRawBufferPointer(all), at: 0)
      try file.sync()
      return size
    } catch {
      throw .store(error)
    }
  }

  private static func file(_ path: String, _ vfs: String) throws(BackupFileFailure) -> VFSFile? {
    do throws(StoreFailure) {
      return try VFSFile(path: path, vfs: vfs, create: false)
    } catch {
      throw .store(error)
    }
  }
}
