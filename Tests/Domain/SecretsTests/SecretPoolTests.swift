import Testing

import Secrets

@Suite struct SecretPoolTests {
  @Test func emptySlabBesideAFullOne_isKeptForTheNextAllocation() {
    let pool = SecretPool()
    // 64 blocks of 1 KiB fill a slab.
    let full = (0..<64).map { _ in pool.allocate(1_000) }
    #expect(pool.slabCount == 1)
    var last = pool.allocate(1_000)
    #expect(pool.slabCount == 2)
    let address = last.baseAddress
    for _ in 0..<100 {
      pool.release(last)
      #expect(pool.slabCount == 2, "a slab was freed to be made again")
      last = pool.allocate(1_000)
      #expect(last.baseAddress == address)
    }
    for memory in full + [last] { pool.release(memory) }
  }

  @Test func unusedSlabs_areReturnedToTheSystem() {
    let pool = SecretPool()
    let lent = (0..<1_000).map { _ in pool.allocate(1_000) }
    #expect(pool.slabCount == 16)
    for memory in lent { pool.release(memory) }
    #expect(pool.slabCount == 1)
  }

  @Test func allocatedBlocks_doNotOverlap() {
    let pool = SecretPool()
    for count in [1, 64, 65, 256, 1_024, 1_025, 1_536, 2_048, 4_096, 16_384] {
      let lent = (0..<200).map { _ in pool.allocate(count) }
      let ranges = lent.map { UInt(bitPattern: $0.baseAddress)..<(UInt(bitPattern: $0.baseAddress) + UInt(count)) }
        .sorted { $0.lowerBound < $1.lowerBound }
      #expect(zip(ranges, ranges.dropFirst()).allSatisfy { $0.upperBound <= $1.lowerBound })
      for memory in lent.shuffled() { pool.release(memory) }
    }
  }
}
