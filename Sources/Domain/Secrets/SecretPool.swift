internal import CSodium
internal import Synchronization

/// Allocates guarded memory for small secrets.
///
/// `sodium_malloc` takes at least three pages for each secret, and common systems limit locked memory to 8 MiB. The
/// pool therefore takes slabs from `sodium_malloc` and cuts them into blocks. Guard pages, canary, `mlock` and
/// exclusion from core dumps apply to the slab; wiping on release applies to the block.
package final class SecretPool: Sendable {
  static let shared = SecretPool()

  private static let slabBytes = 65_536
  /// Block sizes in bytes. A larger secret (a body) gets pages of its own (`LongBlocks`). Access tokens are around 1
  /// KiB and there may be ten thousand of them, so the sizes are closer together there.
  private static let blockBytes = [64, 256, 1_024, 1_536, 2_048, 4_096, 16_384]

  private struct Slab {
    let base: UnsafeMutableRawPointer
    var free: [UInt16]
    let blocks: Int

    var isEmpty: Bool { free.count == blocks }
  }

  private struct State: @unchecked Sendable { var slabs: [[Slab]] }
  private let state = Mutex(State(slabs: blockBytes.map { _ in [] }))

  private struct Locking {
    var isComplete = true
    var observer: (@Sendable () -> Void)?
  }
  private let locking = Mutex(Locking())
  private let long: LongBlocks

  package init(long: LongBlocks = LongBlocks()) {
    self.long = long
    // 0 means initialised, 1 that another part of the process did it first.
    precondition(sodium_init() != -1, "libsodium could not be initialised: no secret can be held safely")
  }

  /// - Parameter isPassing: for the body of a server's answer, which the machine need not lock.
  package func allocate(_ count: Int, isPassing: Bool = false) -> UnsafeMutableRawBufferPointer {
    guard let sizeClass = Self.blockBytes.firstIndex(where: { $0 >= count }) else {
      return UnsafeMutableRawBufferPointer(
        start: long.allocate(count, refused: { if !isPassing { noteRefusedLock() } }), count: count)
    }
    let size = Self.blockBytes[sizeClass]
    let address = state.withLock { state -> UInt in
      let index: Int
      if let found = state.slabs[sizeClass].firstIndex(where: { !$0.free.isEmpty }) {
        index = found
      } else {
        let base = guarded(Self.slabBytes)
        let blocks = Self.slabBytes / size
        state.slabs[sizeClass].append(Slab(base: base, free: (0..<UInt16(blocks)).reversed(), blocks: blocks))
        index = state.slabs[sizeClass].count - 1
      }
      let block = state.slabs[sizeClass][index].free.removeLast()
      return UInt(bitPattern: state.slabs[sizeClass][index].base + Int(block) * size)
    }
    return UnsafeMutableRawBufferPointer(start: UnsafeMutableRawPointer(bitPattern: address), count: count)
  }

  package func release(_ memory: UnsafeMutableRawBufferPointer) {
    guard let sizeClass = Self.blockBytes.firstIndex(where: { $0 >= memory.count }) else {
      return long.release(memory.baseAddress!)
    }
    let size = Self.blockBytes[sizeClass]
    let address = UInt(bitPattern: memory.baseAddress)
    sodium_memzero(memory.baseAddress, memory.count)
    state.withLock { state in
      for index in state.slabs[sizeClass].indices {
        let base = UInt(bitPattern: state.slabs[sizeClass][index].base)
        guard address >= base, address < base + UInt(Self.slabBytes) else { continue }
        state.slabs[sizeClass][index].free.append(UInt16((address - base) / UInt(size)))
        // Keep one empty slab a size: at the edge of a full slab each allocation would otherwise make and free a slab,
        // which costs 50 µs.
        let isSpare = state.slabs[sizeClass][index].isEmpty
        if isSpare, state.slabs[sizeClass].count(where: \.isEmpty) > 1 {
          sodium_free(state.slabs[sizeClass].remove(at: index).base)
        }
        return
      }
      preconditionFailure("released memory that the pool never lent")
    }
  }

  /// The memory with only its first `count` bytes; nil if they fit into a block, or if it is one.
  func shrink(_ memory: UnsafeMutableRawBufferPointer, to count: Int) -> UnsafeMutableRawBufferPointer? {
    guard let largest = Self.blockBytes.last, count > largest, count <= memory.count else { return nil }
    long.shrink(memory.baseAddress!, to: count)
    return UnsafeMutableRawBufferPointer(rebasing: memory[..<count])
  }

  /// `sodium_malloc` ignores a refusal of mlock(2), so the lock is asked for once more: a locked page costs nothing.
  private func guarded(_ count: Int) -> UnsafeMutableRawPointer {
    guard let memory = sodium_malloc(count) else { preconditionFailure("no guarded memory left") }
    if sodium_mlock(memory, count) != 0 { noteRefusedLock() }
    return memory
  }

  func noteRefusedLock() {
    locking.withLock { locking in
      locking.isComplete = false
      return locking.observer.take()
    }?()
  }

  /// False once the kernel has refused to lock a part of the pool.
  var isLocked: Bool { locking.withLock { $0.isComplete } }

  /// Calls `body` once, at the first refusal, also if that was before this call. `body` must not allocate secrets.
  func whenUnlocked(_ body: @escaping @Sendable () -> Void) {
    let isComplete = locking.withLock { locking in
      if locking.isComplete { locking.observer = body }
      return locking.isComplete
    }
    if !isComplete { body() }
  }

  /// Number of slabs in the pool, for tests.
  package var slabCount: Int { state.withLock { $0.slabs.reduce(0) { $0 + $1.count } } }
}
