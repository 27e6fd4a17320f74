import AgentModel
import Testing

@Suite struct DeadlineTests {
  func at(_ milliseconds: Int64) -> BootInstant { BootInstant(milliseconds: milliseconds) }

  @Test func dueEntries_areOrderedByDeadlineThenInsertion() {
    var deadlines = DeadlineQueue<String>()
    for (id, (name, moment)) in [("third", 30), ("first", 10), ("second", 20), ("also second", 20)].enumerated() {
      deadlines.insert(UInt64(id), name, until: at(Int64(moment)))
    }
    #expect(deadlines.earliest == at(10))
    #expect(deadlines.removeDue(at: at(9)).isEmpty)
    #expect(deadlines.removeDue(at: at(20)) == ["first", "second", "also second"])
    #expect(deadlines.earliest == at(30))
    #expect(deadlines.removeDue(at: at(Int64.max)) == ["third"])
    #expect(deadlines.isEmpty && deadlines.earliest == nil)
  }

  @Test func cancelledEntry_isNotWaitedFor() {
    var deadlines = DeadlineQueue<String>()
    deadlines.insert(1, "soon", until: at(10))
    deadlines.insert(2, "later", until: at(20))
    #expect(deadlines.remove(1) == "soon")
    #expect(deadlines.remove(1) == nil)
    #expect(deadlines.earliest == at(20))
    #expect(deadlines.removeDue(at: at(15)).isEmpty)
    #expect(deadlines.remove(2) == "later")
    #expect(deadlines.earliest == nil && deadlines.isEmpty)
  }

  @Test(arguments: 0..<20 as Range<UInt64>)
  func randomDeadlines_agreeWithALinearSearch(seed: UInt64) {
    var random = Seeded(state: seed)
    var deadlines = DeadlineQueue<UInt64>()
    var plain: [UInt64: BootInstant] = [:]
    for id in 0..<3000 as Range<UInt64> {
      switch UInt64.random(in: 0..<10, using: &random) {
      case 0..<5:
        let deadline = at(.random(in: 0..<1000, using: &random))
        deadlines.insert(id, id, until: deadline)
        plain[id] = deadline
      case 5..<9:
        let gone = UInt64.random(in: 0...id, using: &random)
        #expect((deadlines.remove(gone) != nil) == (plain.removeValue(forKey: gone) != nil), "seed \(seed)")
      default:
        let now = at(.random(in: 0..<200, using: &random))
        let due = plain.filter { $0.value <= now }.sorted { ($0.value, $0.key) < ($1.value, $1.key) }.map(\.key)
        for id in due { plain[id] = nil }
        #expect(deadlines.removeDue(at: now) == due, "seed \(seed)")
      }
      #expect(deadlines.earliest == plain.values.min() && deadlines.count == plain.count, "seed \(seed)")
    }
  }

  @Test func cancelledEntries_doNotPileUp() {
    var deadlines = DeadlineQueue<String>()
    deadlines.insert(0, "the only one", until: at(1))
    for id in 1...100_000 as ClosedRange<UInt64> {
      deadlines.insert(id, "gone at once", until: at(1000))
      #expect(deadlines.remove(id) != nil)
      if deadlines.entryCount > 100 { break }
    }
    #expect(deadlines.entryCount <= 100)
    #expect(deadlines.removeDue(at: at(1000)) == ["the only one"])
  }

  private struct Seeded: RandomNumberGenerator {
    var state: UInt64
    mutating func next() -> UInt64 {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return state ^ (state >> 29)
    }
  }
}
