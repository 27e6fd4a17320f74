internal import AgentPorts
internal import Synchronization

/// The `RepeatJournal` in the file `-repeats`. Its space is taken once, so that a full disk refuses no later write.
final class RepeatFile: RepeatJournal {
  private struct State {
    var file: VFSFile?
    /// False after a failed opening, until the store is opened again.
    var isUsable = true
  }
  private let path: String
  private let vfs: String?
  private let state = Mutex(State())

  private static let bytes = RepeatJournalSize.slots * RepeatJournalSize.slotBytes

  init(path: String, vfs: String?) {
    self.path = path
    self.vfs = vfs
  }

  func write(_ bytes: [UInt8], slot: Int) -> Bool {
    state.withLock { state in
      guard state.isUsable, slot < RepeatJournalSize.slots, bytes.count <= RepeatJournalSize.slotBytes else {
        return false
      }
      do throws(StoreFailure) {
        if state.file == nil { state.file = try opened() }
        guard !bytes.isEmpty else { return true }
        try bytes.withUnsafeBufferPointer { bytes throws(StoreFailure) in
          try state.file?.write(UnsafeRawBufferPointer(bytes), at: slot * RepeatJournalSize.slotBytes)
        }
        return true
      } catch {
        state.file = nil
        state.isUsable = false
        return false
      }
    }
  }

  func read() -> [[UInt8]]? {
    state.withLock { _ in
      var found = [UInt8](repeating: 0, count: Self.bytes)
      do throws(StoreFailure) {
        guard let file = try VFSFile(path: path, vfs: vfs, create: false), try file.size() >= Self.bytes else {
          return nil
        }
        try found.withUnsafeMutableBufferPointer { buffer throws(StoreFailure) in
          try file.read(UnsafeMutableRawBufferPointer(buffer), at: 0)
        }
      } catch {
        return nil
      }
      return (0..<RepeatJournalSize.slots).map { slot in
        Array(found[slot * RepeatJournalSize.slotBytes..<(slot + 1) * RepeatJournalSize.slotBytes])
      }
    }
  }

  /// Tries again after a failure. The store calls it when it is opened.
  func reopen() {
    state.withLock { state in
      state.file = nil
      state.isUsable = true
    }
  }

  private func opened() throws(StoreFailure) -> VFSFile {
    if vfs == nil { try PrivateFiles.check(path) }
    guard let file = try VFSFile(path: path, vfs: vfs, create: true) else { throw .inputOutput }
    let size = try file.size()
    guard size < Self.bytes else { return file }
    let zeros = [UInt8](repeating: 0, count: Self.bytes - size)
    try zeros.withUnsafeBufferPointer { zeros throws(StoreFailure) in
      try file.write(UnsafeRawBufferPointer(zeros), at: size)
    }
    return file
  }
}
