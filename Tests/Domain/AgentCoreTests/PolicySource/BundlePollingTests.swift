import AgentCore
import AgentModel
import Testing

/// When an agent asks its policy source, alone and as one of ten thousand.
@Suite struct BundlePollingTests {
  private static let hour = Milliseconds.seconds(3_600)

  private func at(_ seconds: Int64) -> BootInstant { BootInstant(milliseconds: seconds * 1_000) }

  /// Began at 0, confirmed at 0.
  private func confirmed(_ jitter: Double = 0.5) -> BundlePolling {
    var polling = BundlePolling(every: Self.hour)
    polling.start(age: nil, isUrgent: true, at: at(0), jitter: 0)
    _ = polling.begin(at: at(0), jitter: 0)
    polling.ended(.confirmed, at: at(0), jitter: jitter)
    return polling
  }

  @Test func agentWithoutABundle_asksAtOnce() {
    var polling = BundlePolling(every: Self.hour)
    #expect(polling.nextAt == nil)
    polling.start(age: nil, isUrgent: true, at: at(10), jitter: 0.99)
    #expect(polling.nextAt! < at(11))
    let answer1 = polling.begin(at: at(10), jitter: 0)
    #expect(!answer1)
    let answer2 = polling.begin(at: at(11), jitter: 0)
    #expect(answer2)
  }

  @Test func restart_continuesTheInterval() {
    var polling = BundlePolling(every: Self.hour)
    polling.start(age: .seconds(3_000), isUrgent: false, at: at(0), jitter: 0.5)
    #expect(polling.nextAt == at(600))
    polling.start(age: .seconds(9_000), isUrgent: false, at: at(0), jitter: 0.5)
    #expect(polling.nextAt == at(150))
    polling.start(age: .seconds(9_000), isUrgent: true, at: at(0), jitter: 0.5)
    #expect(polling.nextAt == at(15))
  }

  @Test(arguments: [(0.0, 3_240), (0.5, 3_600), (0.9999, 3_960)])
  func confirmation_waitsForTheIntervalMoreOrLess(_ jitter: Double, _ seconds: Int64) {
    let next = confirmed(jitter).nextAt!
    #expect(abs((next - at(seconds)).count) < 1_000)
  }

  @Test(
    arguments: [
      (true, [15, 30, 60, 120, 240, 480, 960, 1_800, 1_800]), (false, [1_350, 1_800, 1_800]),
    ] as [(Bool, [Int64])])
  func failures_doubleThePauseUpToTheInterval(_ isUrgent: Bool, _ expected: [Int64]) {
    var polling = confirmed()
    for pause in expected {
      let now = polling.nextAt!
      let began = polling.begin(at: now, jitter: 0)
      #expect(began)
      polling.ended(.unreached, isUrgent: isUrgent, at: now, jitter: 0)
      #expect((polling.nextAt! - now).wholeSeconds == pause)
    }
  }

  @Test func retryAfter_isHeardWithinABound() {
    var polling = confirmed()
    func next(_ retryAfter: Int64) -> Int64 {
      let answer4 = polling.ask(at: at(100))
      #expect(answer4 == .begin)
      polling.ended(.refused(retryAfter: .seconds(retryAfter)), at: at(100), jitter: 0)
      return (polling.nextAt! - at(100)).wholeSeconds
    }
    #expect(next(7_200) == 7_200)
    #expect(next(1 << 31) == 86_400)
  }

  @Test func secondFetch_joinsTheFirst() {
    var polling = confirmed()
    let answer5 = polling.ask(at: at(10))
    #expect(answer5 == .begin)
    let answer6 = polling.ask(at: at(10))
    #expect(answer6 == .join)
    let answer7 = polling.begin(at: at(9_000), jitter: 0)
    #expect(!answer7)
    polling.mayBeReachable(at: at(11), jitter: 0)
    polling.start(age: nil, isUrgent: true, at: at(11), jitter: 0)
    #expect(polling.nextAt == nil)
    polling.ended(.confirmed, at: at(12), jitter: 0.5)
    #expect(polling.nextAt == at(3_612))
    // An answer without a fetch changes nothing.
    polling.ended(.unreached, at: at(13), jitter: 0)
    #expect(polling.nextAt == at(3_612))
  }

  @Test func wakeFromSleep_waitsForTheNetwork() {
    var polling = confirmed()
    let answer8 = polling.begin(at: at(9_000), jitter: 0.1)
    #expect(!answer8)
    #expect(polling.nextAt == at(9_030))
    let answer9 = polling.begin(at: at(9_030), jitter: 0)
    #expect(answer9)
  }

  @Test func networkThatReturnsAfterSleep_isMetApart() {
    var polling = confirmed()
    polling.mayBeReachable(at: at(9_000), jitter: 0.5)
    #expect(polling.nextAt == at(9_015))
    polling.mayBeReachable(at: at(9_001), jitter: 0.9)
    #expect(polling.nextAt == at(9_015))
  }

  @Test func networkThatReturns_isAReasonOnlyAfterSilence() {
    var polling = confirmed()
    polling.mayBeReachable(at: at(60), jitter: 0)
    #expect(polling.nextAt == at(3_600))
    _ = polling.ask(at: at(60))
    polling.ended(.unreached, at: at(90), jitter: 0.99)
    // Not within ten seconds of the last one, and not again and again.
    polling.mayBeReachable(at: at(91), jitter: 0.5)
    #expect(polling.nextAt == at(106))
    polling.mayBeReachable(at: at(92), jitter: 0.99)
    #expect(polling.nextAt == at(106))
    _ = polling.begin(at: at(106), jitter: 0)
    polling.ended(.refused(retryAfter: nil), at: at(106), jitter: 0)
    let next = polling.nextAt
    polling.mayBeReachable(at: at(107), jitter: 0)
    #expect(polling.nextAt == next)
  }

  // MARK: ten thousand

  /// Requests a second at the source, of ten thousand agents with an interval of an hour; `isUp` by the second.
  private func load(
    seconds: Int, seed: UInt64, start: (inout BundlePolling, Double) -> Void, isUp: (Int) -> Bool
  ) -> [Int] {
    var random = SplitMix(state: seed)
    var load = Array(repeating: 0, count: seconds)
    for _ in 0..<10_000 {
      var polling = BundlePolling(every: Self.hour)
      start(&polling, random.fraction())
      while let next = polling.nextAt, next < at(Int64(seconds)) {
        guard polling.begin(at: next, jitter: random.fraction()) else { continue }
        let second = Int(next.milliseconds / 1_000)
        load[second] += 1
        polling.ended(isUp(second) ? .confirmed : .unreached, at: next, jitter: random.fraction())
      }
    }
    return load
  }

  private struct SplitMix {
    var state: UInt64

    mutating func fraction() -> Double {
      state &+= 0x9E37_79B9_7F4A_7C15
      var bits = state
      bits = (bits ^ (bits >> 30)) &* 0xBF58_476D_1CE4_E5B9
      bits = (bits ^ (bits >> 27)) &* 0x94D0_49BB_1331_11EB
      return Double((bits ^ (bits >> 31)) >> 11) / Double(UInt64(1) << 53)
    }
  }

  @Test(arguments: [1, 2, 3] as [UInt64])
  func outageOfAnHour_endsWithoutAPeak(_ seed: UInt64) {
    let load = load(
      seconds: 14_400, seed: seed,
      start: { polling, jitter in
        polling.start(age: .seconds(Int64(jitter * 3_600)), isUrgent: false, at: at(0), jitter: 0.5)
      }, isUp: { !(3_600..<7_200).contains($0) })
    let steady = load[..<3_600].reduce(0, +) / 3_600
    #expect((2...3).contains(steady))
    // A minute together: a single second has the noise of so few requests.
    let peak = stride(from: 7_200, to: 14_340, by: 60).map { load[$0..<$0 + 60].reduce(0, +) }.max()!
    #expect(Double(peak) <= 2 * load[..<3_600].reduce(0, { $0 + Double($1) }) / 60, "\(peak) requests in a minute")
  }

  @Test(arguments: [1, 2, 3] as [UInt64])
  func morningWhenAllAreOverdue_isSpread(_ seed: UInt64) {
    let load = load(
      seconds: 600, seed: seed,
      start: { polling, jitter in
        polling.start(age: .seconds(40_000), isUrgent: false, at: at(Int64(jitter * 300)), jitter: jitter)
      }, isUp: { _ in true })
    #expect(load.reduce(0, +) == 10_000)
    #expect(load.max()! < 100, "\(load.max()!) requests in a second")
  }
}
