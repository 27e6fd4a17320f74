import AgentCore
import AgentModel
import Testing

/// Changes to the log that need the file, but not the key. The walk finds each, and the entry where it begins.
@Suite struct AuditChainTests {
  struct Entry: Equatable {
    var sequence: Int64
    var words: String
    var link: [UInt8]
    var opens = true
  }

  /// Stands for the keyed digest: FNV-1a over the sequence number, the words and the previous link.
  static func link(_ sequence: Int64, _ words: String, after previous: [UInt8]) -> [UInt8] {
    var hash: UInt64 = 0xcbf2_9ce4_8422_2325
    for byte in previous + Array("\(sequence) \(words)".utf8) { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
    return (0..<AuditChain.linkBytes).map { UInt8(truncatingIfNeeded: hash >> (8 * ($0 % 8))) }
  }

  static let now = Timestamp(milliseconds: 0)

  /// A log of `count` entries, rotated at `bound`.
  static func written(
    _ count: Int, bound: AuditChain.Bound = .decisions
  ) -> (chain: AuditChains, log: [Entry]) {
    var (chains, log) = (AuditChains(), [Entry]())
    for number in 0..<count {
      let (words, sequence) = ("entry \(number)", chains.last + 1)
      let entry = Entry(
        sequence: sequence, words: words, link: link(sequence, words, after: chains.decisions.link))
      log.append(entry)
      chains.decisions.append(entry.link, as: sequence)
      _ = chains.decisions.endSegment(of: bound, at: now)
      while let segment = chains.decisions.excess(over: bound, at: now) {
        chains.decisions.dropSegment(link: segment.link)
        log.removeAll { $0.sequence <= segment.through }
      }
    }
    return (chains, log)
  }

  /// The number of the first entry that differs from what was written.
  static func firstBroken(_ log: [Entry], _ chain: AuditChains) -> Int64? {
    var walk = AuditVerifier(chain)
    for entry in log {
      walk.visit(entry.sequence, in: .decisions, link: entry.link, opens: entry.opens) {
        link(entry.sequence, entry.words, after: $0)
      }
    }
    walk.finish()
    return walk.firstBroken
  }

  @Test(arguments: [0, 1, 2, 10]) func unchangedLog_isIntact(count: Int) {
    let (chain, log) = Self.written(count)
    #expect(Self.firstBroken(log, chain) == nil)
    #expect(chain.decisions.count == count)
  }

  @Test func editedEntry_isFirstBroken() {
    let (chain, log) = Self.written(10)
    for index in log.indices {
      var edited = log
      edited[index].words += "!"
      #expect(Self.firstBroken(edited, chain) == log[index].sequence)
      // An edited entry with a matching link fails too: the next link, or the head, does not follow from it.
      edited[index].link[0] ^= 1
      #expect(Self.firstBroken(edited, chain) == log[index].sequence)
      var sealed = log
      sealed[index].opens = false
      #expect(Self.firstBroken(sealed, chain) == log[index].sequence)
    }
  }

  @Test func removedEntry_isFirstBroken() {
    let (chain, log) = Self.written(10)
    for index in log.indices {
      var less = log
      less.remove(at: index)
      #expect(Self.firstBroken(less, chain) == log[index].sequence)
    }
    #expect(Self.firstBroken([], chain) == 1, "all of them")
  }

  @Test func truncatedLog_isBrokenAtTheFirstMissingEntry() {
    let (chain, log) = Self.written(10)
    for kept in 0..<10 { #expect(Self.firstBroken(Array(log.prefix(kept)), chain) == Int64(kept) + 1) }
  }

  @Test func swappedEntries_breakTheChain() {
    let (chain, log) = Self.written(6)
    for (one, other) in [(0, 1), (0, 5), (2, 4), (4, 5)] {
      var swapped = log
      swapped.swapAt(one, other)
      #expect(Self.firstBroken(swapped, chain) == log[one].sequence)
      // Renumbering the swapped entries does not hide it.
      (swapped[one].sequence, swapped[other].sequence) = (log[one].sequence, log[other].sequence)
      #expect(Self.firstBroken(swapped, chain) == log[one].sequence)
    }
  }

  @Test func duplicatedOrInsertedEntry_breaksTheChain() {
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

  @Test func entriesPastTheHead_breakTheChain() {
    let (chain, log) = Self.written(6)
    let (_, longer) = Self.written(9)
    #expect(Self.firstBroken(longer, chain) == 7)
    #expect(Self.firstBroken(log, AuditChains()) == 1)
  }

  @Test func olderCopyOfTheLog_failsAgainstTheCurrentHead() {
    let (old, _) = Self.written(4)
    let (chain, log) = Self.written(9)
    #expect(Self.firstBroken(Array(log.prefix(4)), chain) == 5)
    #expect(Self.firstBroken(Array(log.prefix(4)), old) == nil, "its own head is what tells")
  }

  @Test(arguments: [10, 11, 14, 15, 16, 100, 101, 999])
  func rotatedLog_dropsTheOldestEntriesAndStaysIntact(count: Int) {
    let (chains, log) = Self.written(count, bound: .init(.entries(10), segment: 5))
    let chain = chains.decisions
    #expect(Self.firstBroken(log, chains) == nil)
    #expect(chain.count <= 10 && chain.count >= min(Int64(count), 6) && chain.last == count)
    #expect(log.count == chain.count && log.first?.sequence == chain.first)
    guard chain.first > 1 else { return }
    #expect(Self.firstBroken(Array(log.dropFirst()), chains) == chain.first)
    // An entry that rotation dropped is refused when it is put back.
    let all = Self.written(count).log
    #expect(Self.firstBroken(all, chains) == 1)
    #expect(Self.firstBroken([all[Int(chain.first) - 2]] + log, chains) == chain.first - 1)
  }

  /// A ring that is kept by age has a bound by number, too: beyond it one segment leaves for each new one.
  @Test func ringKeptByAge_keepsAtMostItsNumber() {
    let bound = AuditChain.Bound(.age(.seconds(1_000_000), most: 50), segment: 5)
    var chain = AuditChain()
    var most: Int64 = 0
    for number in 1...200 {
      chain.append(Self.link(Int64(number), "entry", after: chain.link), as: Int64(number))
      guard chain.endSegment(of: bound, at: Self.now) else { continue }
      if let segment = chain.excess(over: bound, at: Self.now) { chain.dropSegment(link: segment.link) }
      most = max(most, chain.count)
      if number <= 50 { #expect(chain.first == 1 && chain.count == number, "nothing goes before") }
    }
    #expect(most == 50)
    #expect(chain.last == 200 && chain.count == 50 && chain.first == 151)
  }

  @Test func securityRing_holdsAYearOfOneClientsHoursAndABoundedNumber() {
    guard case .age(let age, let most) = AuditChain.Bound.security.retention else {
      Issue.record("the ring of security events is kept by age")
      return
    }
    #expect(age >= .seconds(365 * 86_400) && most == 1_000_000)
    // One client at its quota needs three weeks to fill it.
    #expect(most / AuditQuota.Limits().security >= 20 * 24)
  }

  /// Two rings under one count: each removed, edited or moved entry shows, also where the other ring has gaps.
  @Test(arguments: [4, 40]) func alteredEntryInEitherRing_shows(decisions: Int) {
    let bound = AuditChain.Bound(.entries(10), segment: 5)
    var chains = AuditChains()
    var log: [(ring: AuditRing, entry: Entry)] = []
    for number in 0..<decisions {
      let ring: AuditRing = number % 4 == 0 ? .security : .decisions
      let (words, sequence) = ("entry \(number)", chains.last + 1)
      let entry = Entry(sequence: sequence, words: words, link: Self.link(sequence, words, after: chains[ring].link))
      log.append((ring, entry))
      chains[ring].append(entry.link, as: sequence)
      guard ring == .decisions else { continue }
      _ = chains[ring].endSegment(of: bound, at: Self.now)
      while let segment = chains[ring].excess(over: bound, at: Self.now) {
        chains[ring].dropSegment(link: segment.link)
        log.removeAll { $0.ring == ring && $0.entry.sequence <= segment.through }
      }
    }
    func firstBroken(_ log: [(ring: AuditRing, entry: Entry)]) -> Int64? {
      var walk = AuditVerifier(chains)
      for (ring, entry) in log {
        walk.visit(entry.sequence, in: ring, link: entry.link, opens: entry.opens) {
          Self.link(entry.sequence, entry.words, after: $0)
        }
      }
      walk.finish()
      return walk.firstBroken
    }
    #expect(firstBroken(log) == nil)
    for index in log.indices {
      let sequence = log[index].entry.sequence
      var less = log
      less.remove(at: index)
      // Where decisions are gone, a removed number may be any of those between two entries.
      let found = firstBroken(less) ?? .max
      #expect(found <= sequence && found > (index > 0 ? log[index - 1].entry.sequence : 0), "removed \(sequence)")
      var edited = log
      edited[index].entry.words += "!"
      #expect((firstBroken(edited) ?? .max) <= sequence, "edited \(sequence)")
      var moved = log
      moved[index].ring = log[index].ring == .security ? .decisions : .security
      #expect(firstBroken(moved) != nil, "moved \(sequence)")
    }
  }
}
