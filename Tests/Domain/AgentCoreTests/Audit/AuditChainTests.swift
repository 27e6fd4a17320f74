import AgentCore
import Testing

/// What somebody who holds the file, and not the key, can do to the log: each is found, and where it begins.
@Suite struct AuditChainTests {
  struct Entry: Equatable {
    var sequence: Int64
    var words: String
    var link: [UInt8]
    var opens = true
  }

  /// Stands for the keyed digest: FNV-1a over all that it covers.
  static func link(_ sequence: Int64, _ words: String, after previous: [UInt8]) -> [UInt8] {
    var hash: UInt64 = 0xcbf2_9ce4_8422_2325
    for byte in previous + Array("\(sequence) \(words)".utf8) { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
    return (0..<AuditChain.linkBytes).map { UInt8(truncatingIfNeeded: hash >> (8 * ($0 % 8))) }
  }

  /// A log of so many entries under a bound.
  static func written(_ count: Int, bound: AuditChain.Bound = .standard) -> (chain: AuditChain, log: [Entry]) {
    var (chain, log) = (AuditChain(), [Entry]())
    for number in 0..<count {
      let words = "entry \(number)"
      let entry = Entry(sequence: chain.last + 1, words: words, link: link(chain.last + 1, words, after: chain.link))
      log.append(entry)
      chain.append(entry.link)
      guard let through = chain.excess(over: bound) else { continue }
      chain.drop(through: through, link: log.first { $0.sequence == through }!.link)
      log.removeAll { $0.sequence <= through }
    }
    return (chain, log)
  }

  /// The number of the first entry that is not as it was written.
  static func firstBroken(_ log: [Entry], _ chain: AuditChain) -> Int64? {
    var walk = AuditVerifier(chain)
    for entry in log {
      walk.visit(entry.sequence, link: entry.link, opens: entry.opens) {
        link(entry.sequence, entry.words, after: $0)
      }
    }
    walk.finish()
    return walk.firstBroken
  }

  @Test(arguments: [0, 1, 2, 10]) func whatNobodyTouchedIsIntact(count: Int) {
    let (chain, log) = Self.written(count)
    #expect(Self.firstBroken(log, chain) == nil)
    #expect(chain.count == count)
  }

  @Test func anEditIsFoundWhereItIs() {
    let (chain, log) = Self.written(10)
    for index in log.indices {
      var edited = log
      edited[index].words += "!"
      #expect(Self.firstBroken(edited, chain) == log[index].sequence)
      // Also with a link that belongs to it: then the next one does not follow, or the end is another.
      edited[index].link[0] ^= 1
      #expect(Self.firstBroken(edited, chain) == log[index].sequence)
      var sealed = log
      sealed[index].opens = false
      #expect(Self.firstBroken(sealed, chain) == log[index].sequence)
    }
  }

  @Test func aRemovedOneIsMissed() {
    let (chain, log) = Self.written(10)
    for index in log.indices {
      var less = log
      less.remove(at: index)
      #expect(Self.firstBroken(less, chain) == log[index].sequence)
    }
    #expect(Self.firstBroken([], chain) == 1, "all of them")
  }

  @Test func aTailThatWasCutIsMissed() {
    let (chain, log) = Self.written(10)
    for kept in 0..<10 { #expect(Self.firstBroken(Array(log.prefix(kept)), chain) == Int64(kept) + 1) }
  }

  @Test func orderCounts() {
    let (chain, log) = Self.written(6)
    for (one, other) in [(0, 1), (0, 5), (2, 4), (4, 5)] {
      var swapped = log
      swapped.swapAt(one, other)
      #expect(Self.firstBroken(swapped, chain) == log[one].sequence)
      // Numbers that fit help nobody.
      (swapped[one].sequence, swapped[other].sequence) = (log[one].sequence, log[other].sequence)
      #expect(Self.firstBroken(swapped, chain) == log[one].sequence)
    }
  }

  @Test func nothingStandsTwiceAndNothingIsAdded() {
    let (chain, log) = Self.written(6)
    for index in log.indices {
      var more = log
      more.insert(log[index], at: index)
      #expect(Self.firstBroken(more, chain) != nil, "twice: \(index)")
      var other = log
      other.insert(Entry(sequence: log[index].sequence, words: "other", link: log[index].link), at: index)
      #expect(Self.firstBroken(other, chain) == log[index].sequence, "added: \(index)")
    }
  }

  @Test func whatIsPastTheEndWasNotWritten() {
    let (chain, log) = Self.written(6)
    let (_, longer) = Self.written(9)
    #expect(Self.firstBroken(longer, chain) == 7)
    #expect(Self.firstBroken(log, AuditChain()) == 1)
  }

  @Test func anOlderCopyIsNotTheLog() {
    let (old, _) = Self.written(4)
    let (chain, log) = Self.written(9)
    #expect(Self.firstBroken(Array(log.prefix(4)), chain) == 5)
    #expect(Self.firstBroken(Array(log.prefix(4)), old) == nil, "its own head is what tells")
  }

  @Test(arguments: [10, 11, 14, 15, 16, 100, 101, 999]) func theOldestGoAndTheRestIsIntact(count: Int) {
    let (chain, log) = Self.written(count, bound: .init(entries: 10, rotated: 5))
    #expect(Self.firstBroken(log, chain) == nil)
    #expect(chain.count <= 10 && chain.count >= min(Int64(count), 6) && chain.last == count)
    #expect(log.count == chain.count && log.first?.sequence == chain.first)
    guard chain.first > 1 else { return }
    #expect(Self.firstBroken(Array(log.dropFirst()), chain) == chain.first)
    // What went does not come back.
    let all = Self.written(count).log
    #expect(Self.firstBroken(all, chain) == 1)
    #expect(Self.firstBroken([all[Int(chain.first) - 2]] + log, chain) == chain.first - 1)
  }

  /// A group may be larger than what goes at once, and larger than the bound.
  @Test(arguments: 1...40) func howeverManyComeAtOnceThereIsRoomAfterwards(group: Int) {
    let bound = AuditChain.Bound(entries: 10, rotated: 5)
    var chain = AuditChain()
    for _ in 0..<20 {
      for _ in 0..<group { chain.append(AuditChain.origin) }
      guard let through = chain.excess(over: bound) else { continue }
      #expect(through >= chain.first && through <= chain.last)
      chain.drop(through: through, link: AuditChain.origin)
      #expect(chain.count <= bound.entries && chain.excess(over: bound) == nil)
    }
  }
}
