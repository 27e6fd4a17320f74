internal import CSodium
internal import Synchronization

/// Guarded memory for small secrets.
///
/// `sodium_malloc` spends at least three pages on a secret and the lock limit is 8 MiB on common systems, so slabs
/// are taken from it and cut into blocks: guard pages, canary, mlock and no core dump hold for the slab, wiping on
/// release for the block.
final class SecretPool: Sendable {
  static let shared = SecretPool()

  private static let slabBytes = 65_536
  /// Larger secrets (a whole provider answer) get pages of their own.
  /// Access tokens and the answers with them are around a thousand bytes, and there may be ten thousand of each: those
  /// sizes lie closer together.
  private static let blockBytes = [64, 256, 1_024, 1_536, 2_048, 4_096, 16_384]

  private struct Slab {
    let base: UnsafeMutableRawPointer
    var free: [UInt16]
    let blocks: Int

    var isEmpty: Bool { free.count == blocks }
  }

  private struct State: @unchecked Sendable { var slabs: [[Slab]] }
  private let state = Mutex(State(slabs: blockBytes.map { _ in [] }))

  init() {
    // Any number but -1 is fine: 1 says that another part of the process was first.
    precondition(sodium_init() != -1, "libsodium could not be initialised: no secret can be held safely")
  }

  func allocate(_ count: Int) -> UnsafeMutableRawBufferPointer {
    guard let sizeClass = Self.blockBytes.firstIndex(where: { $0 >= count }) else {
      guard let memory = sodium_malloc(count) else { preconditionFailure("no guarded memory left") }
      return UnsafeMutableRawBufferPointer(start: memory, count: count)
    }
    let size = Self.blockBytes[sizeClass]
    let address = state.withLock { state -> UInt in
      let index: Int
      if let found = state.slabs[sizeClass].firstIndex(where: { !$0.free.isEmpty }) {
        index = found
      } else {
        guard let base = sodium_malloc(Self.slabBytes) else { preconditionFailure("no guarded memory left") }
        let blocks = Self.slabBytes / size
        state.slabs[sizeClass].append(Slab(base: base, free: (0..<UInt16(blocks)).reversed(), blocks: blocks))
        index = state.slabs[sizeClass].count - 1
      }
      let block = state.slabs[sizeClass][index].free.removeLast()
      return UInt(bitPattern: state.slabs[sizeClass][index].base + Int(block) * size)
    }
    return UnsafeMutableRawBufferPointer(start: UnsafeMutableRawPointer(bitPattern: address), count: count)
  }

  func release(_ memory: UnsafeMutableRawBufferPointer) {
    guard let sizeClass = Self.blockBytes.firstIndex(where: { $0 >= memory.count }) else {
      return sodium_free(memory.baseAddress)  // wipes
    }
    let size = Self.blockBytes[sizeClass]
    let address = UInt(bitPattern: memory.baseAddress)
    sodium_memzero(memory.baseAddress, memory.count)
    state.withLock { state in
      for index in state.slabs[sizeClass].indices {
        let base = UInt(bitPattern: state.slabs[sizeClass][index].base)
        guard address >= base, address < base + UInt(Self.slabBytes) else { continue }
        state.slabs[sizeClass][index].free.append(UInt16((address - base) / UInt(size)))
        // One empty slab a size stays: at the edge of a full one every call would make and free a slab otherwise,
        // at 50 µs each.
        let isSpare = state.slabs[sizeClass][index].isEmpty
        if isSpare, state.slabs[sizeClass].count(where: \.isEmpty) > 1 {
          sodium_free(state.slabs[sizeClass].remove(at: index).base)
        }
        return
      }
      preconditionFailure("released memory that the pool never lent")
    }
  }

  /// How many slabs the pool holds.
  var slabCount: Int { state.withLock { $0.slabs.reduce(0) { $0 + $1.count } } }
}
