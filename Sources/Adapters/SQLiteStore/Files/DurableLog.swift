internal import AgentPorts

/// Makes the WAL durable before SQLite recovers from it.
///
/// A WAL that exists at opening was left by a process that died or whose disk failed, and its last frames may never
/// have reached the medium: after a failed sync Linux keeps the pages, marks them clean, and no later sync writes them.
/// A recovery reads them all the same, and commits after them would be lost with the hole at the next power failure. So
/// every byte is written again and synced. The log is at most a few MiB, and a clean end leaves none.
func makeLogDurable(path: String, vfs: String?) throws(StoreFailure) {
  guard let log = try VFSFile(path: path, vfs: vfs, create: false) else { return }
  let size = try log.size()
  guard size > 0 else { return }
  let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: min(size, 1 << 16), alignment: 16)
  defer { memory.deallocate() }
  var offset = 0
  while offset < size {
    let piece = UnsafeMutableRawBufferPointer(rebasing: memory[..<min(memory.count, size - offset)])
    try log.read(piece, at: offset)
    try log.write(UnsafeRawBufferPointer(piece), at: offset)
    offset += piece.count
  }
  try log.sync()
}
