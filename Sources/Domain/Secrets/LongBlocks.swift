internal import Glibc
internal import Synchronization

/// Memory of secrets that are longer than the pool's blocks, mostly bodies of requests and answers: wiped on release,
/// between pages that no access passes, never in a core dump, and locked as long as half of what the process may lock is
/// left to keys and tokens.
package final class LongBlocks: Sendable {
  private struct Block {
    /// Of its pages, without those around it.
    var bytes: Int
    var isLocked: Bool
    /// Bytes of the closed page on each side; 0 without.
    var margin: Int
  }
  private struct State {
    /// By the address of their first byte.
    var blocks: [UInt: Block] = [:]
    var locked = 0
  }
  private let state = Mutex(State())
  private let mayLock: @Sendable () -> Int
  private let lock: @Sendable (UnsafeMutableRawPointer, Int) -> Bool

  /// - Parameters:
  ///   - mayLock: the bytes that these blocks may lock together.
  ///   - lock: mlock(2).
  package init(
    mayLock: @escaping @Sendable () -> Int = { LongBlocks.lockableBytes },
    lock: @escaping @Sendable (UnsafeMutableRawPointer, Int) -> Bool = { mlock($0, $1) == 0 }
  ) {
    self.mayLock = mayLock
    self.lock = lock
  }

  /// Half of the limit of locked memory (RLIMIT_MEMLOCK, setrlimit(2)).
  static var lockableBytes: Int {
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(__RLIMIT_MEMLOCK.rawValue), &limit) == 0 else { return 0 }
    return Int(clamping: limit.rlim_cur / 2)
  }

  /// With more blocks than these no page around them is closed: each block is then two mappings of its own, and a process
  /// has 65,530.
  package static let mostClosed = 4096

  private static let page = sysconf(Int32(_SC_PAGESIZE))
  private static func pages(_ count: Int) -> Int { (max(count, 1) + page - 1) / page * page }

  /// `refused` is called if the memory is not locked.
  package func allocate(_ count: Int, refused: () -> Void) -> UnsafeMutableRawPointer {
    let bytes = Self.pages(count)
    let margin = state.withLock { $0.blocks.count < Self.mostClosed } ? Self.page : 0
    guard let mapping = mmap(nil, bytes + 2 * margin, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
      mapping != MAP_FAILED
    else { preconditionFailure("no memory left") }
    let base = mapping + margin
    if margin > 0 {
      mprotect(mapping, margin, PROT_NONE)
      mprotect(base + bytes, margin, PROT_NONE)
    }
    madvise(base, bytes, Int32(MADV_DONTDUMP))
    let bound = mayLock()
    let hasRoom = state.withLock { state in
      guard state.locked + bytes <= bound else { return false }
      state.locked += bytes
      return true
    }
    let isLocked = hasRoom && lock(base, bytes)
    if !isLocked { refused() }
    state.withLock { state in
      if hasRoom, !isLocked { state.locked -= bytes }
      state.blocks[UInt(bitPattern: base)] = Block(bytes: bytes, isLocked: isLocked, margin: margin)
    }
    return base
  }

  /// Gives back the pages after `count` bytes.
  package func shrink(_ base: UnsafeMutableRawPointer, to count: Int) {
    let kept = Self.pages(count)
    let block = state.withLock { state -> Block? in
      guard let block = state.blocks[UInt(bitPattern: base)], kept < block.bytes else { return nil }
      state.blocks[UInt(bitPattern: base)]!.bytes = kept
      if block.isLocked { state.locked -= block.bytes - kept }
      return block
    }
    guard let block else { return }
    explicit_bzero(base + kept, block.bytes - kept)
    if block.margin > 0 { mprotect(base + kept, block.margin, PROT_NONE) }
    // The rest goes with the page that closed the block before.
    munmap(base + kept + block.margin, block.bytes - kept)
  }

  package func release(_ base: UnsafeMutableRawPointer) {
    let block = state.withLock { state in
      let block = state.blocks.removeValue(forKey: UInt(bitPattern: base))
      if let block, block.isLocked { state.locked -= block.bytes }
      return block
    }
    guard let block else { preconditionFailure("released memory that was never lent") }
    explicit_bzero(base, block.bytes)
    munmap(base - block.margin, block.bytes + 2 * block.margin)
  }

  /// For tests.
  package var lockedBytes: Int { state.withLock { $0.locked } }
  package var blockCount: Int { state.withLock { $0.blocks.count } }
  package func isLocked(_ base: UnsafeMutableRawPointer) -> Bool {
    state.withLock { $0.blocks[UInt(bitPattern: base)]?.isLocked ?? false }
  }
}
