import Foundation
import Glibc
import Testing

import Secrets

@Suite struct LongBlocksTests {
  private let page = sysconf(Int32(_SC_PAGESIZE))

  @Test func blocksBeyondTheBound_areNotLocked_untilOthersAreReleased() {
    let blocks = LongBlocks(mayLock: { 100_000 }, lock: { _, _ in true })
    let first = blocks.allocate(60_000) { Issue.record("the kernel refused nothing") }
    var refusals = 0
    let second = blocks.allocate(60_000) { refusals += 1 }
    #expect(refusals == 1)
    #expect(blocks.isLocked(first) && !blocks.isLocked(second))
    blocks.release(first)
    let third = blocks.allocate(60_000) { Issue.record("the kernel refused nothing") }
    #expect(blocks.isLocked(third))
    blocks.release(second)
    blocks.release(third)
    #expect(blocks.lockedBytes == 0 && blocks.blockCount == 0)
  }

  @Test func refusedLock_isTold_andCountsNothing() {
    let blocks = LongBlocks(mayLock: { .max }, lock: { _, _ in false })
    var refusals = 0
    let block = blocks.allocate(20_000) { refusals += 1 }
    #expect(refusals == 1 && blocks.lockedBytes == 0)
    blocks.release(block)
  }

  @Test func shrunkBlock_keepsItsBytesAndGivesBackItsPages() {
    let blocks = LongBlocks(mayLock: { .max }, lock: { _, _ in true })
    let block = blocks.allocate(50 * page)
    memset(block, 7, 50 * page)
    blocks.shrink(block, to: 2 * page + 1)
    #expect(blocks.lockedBytes == 3 * page)
    #expect(UnsafeRawBufferPointer(start: block, count: 3 * page).allSatisfy { $0 == 7 })
    var resident: UInt8 = 0
    #expect(mincore(block + 4 * page, page, &resident) == -1 && errno == ENOMEM, "a page is still mapped")
    blocks.shrink(block, to: 49 * page)
    #expect(blocks.lockedBytes == 3 * page)
    blocks.release(block)
    #expect(mincore(block - page, page, &resident) == -1 && mincore(block + 3 * page, page, &resident) == -1)
    #expect(blocks.lockedBytes == 0)
  }

  @Test func manyBlocks_takeFewMappings() throws {
    let blocks = LongBlocks(mayLock: { 0 })
    func mappings() throws -> Int {
      try String(contentsOfFile: "/proc/self/maps", encoding: .utf8).split(separator: "\n").count
    }
    let before = try mappings()
    let many = (0..<40_000).map { _ in blocks.allocate(17_000) }
    #expect(try mappings() - before < 3 * LongBlocks.mostClosed)
    for block in many.shuffled() { blocks.release(block) }
    #expect(blocks.blockCount == 0)
    #expect(try mappings() - before < 100)
  }

  @Test(arguments: [16_384, 16_385, 20_000, 100_000])
  func builtSecret_hasItsBytes(count: Int) {
    var builder = SecretBuilder()
    builder.reserve(200_000)
    for index in 0..<count { builder.append(UInt8(truncatingIfNeeded: index)) }
    let secret = builder.finish()
    #expect(secret.count == count)
    #expect(secret.withBytes { $0.enumerated().allSatisfy { $1 == UInt8(truncatingIfNeeded: $0) } })
  }

  @Test func pageBehindAShrunkBlock_isClosed() async {
    await #expect(processExitsWith: .signal(SIGSEGV)) {
      let page = sysconf(Int32(_SC_PAGESIZE))
      let blocks = LongBlocks()
      let block = blocks.allocate(20 * page) {}
      blocks.shrink(block, to: page)
      block.storeBytes(of: 1, toByteOffset: page, as: UInt8.self)
    }
  }
}

extension LongBlocks {
  fileprivate func allocate(_ count: Int) -> UnsafeMutableRawPointer { allocate(count) {} }
}
