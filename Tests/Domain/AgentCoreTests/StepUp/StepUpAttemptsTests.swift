import AgentCore
import AgentModel
import Testing

@Suite struct StepUpAttemptsTests {
  static let boot = "boot-1"

  static func at(_ seconds: Int64) -> BootInstant { BootInstant(milliseconds: seconds * 1000) }

  @Test func wrongPIN_isTriedTenTimesAndNoMore() {
    var attempts = StepUpAttempts()
    for tried in 0..<10 {
      #expect(attempts.left == 10 - tried)
      let admission = attempts.begin(at: Self.at(Int64(tried) * 100), bootID: Self.boot)
      #expect(admission == .counted)
    }
    #expect(attempts.left == 0)
    let eleventh = attempts.begin(at: Self.at(10_000), bootID: Self.boot)
    #expect(eleventh == .spent)
  }

  @Test func rightPIN_givesBackOnlyItsOwnAttempt() {
    var attempts = StepUpAttempts()
    for round in 0..<50 {
      let admission = attempts.begin(at: Self.at(Int64(round)), bootID: Self.boot)
      #expect(admission == .counted)
      attempts.wasRight()
    }
    #expect(attempts.left == 10)
    _ = attempts.begin(at: Self.at(60), bootID: Self.boot)
    _ = attempts.begin(at: Self.at(61), bootID: Self.boot)
    attempts.wasRight()
    #expect(attempts.left == 9)
  }

  @Test func backupOfATriedPIN_bringsNoTryBack() {
    let backedUp = StepUpAttempts(spent: 1, inARow: 1, lastAt: Self.at(5), lastBootID: "boot-of-another-machine")
    var noted = StepUpAttempts()
    for second in 0..<4 { _ = noted.begin(at: Self.at(100 + Int64(second)), bootID: Self.boot) }
    #expect(backedUp.after(noted) == noted)
    let spentElsewhere = StepUpAttempts(spent: 9, inARow: 6, lastAt: Self.at(5), lastBootID: "boot-of-another-machine")
    #expect(spentElsewhere.after(noted).left == 1)
    #expect(spentElsewhere.after(noted).waiting(at: Self.at(103), bootID: Self.boot) == .seconds(8))
  }

  @Test func noteOfMoreAttempts_isLoweredByARightOneAlone() {
    let noted = StepUpAttempts(spent: 5, inARow: 2, lastAt: Self.at(5), lastBootID: Self.boot)
    var record = StepUpAttempts()
    _ = record.begin(at: Self.at(60), bootID: Self.boot)
    #expect(record.noted(over: noted, wasRight: false).spent == 5)
    #expect(record.noted(over: noted, wasRight: false).lastAt == Self.at(60))
    record.wasRight()
    let after = record.noted(over: noted, wasRight: true)
    #expect(after.spent == 4 && after.inARow == 0)
    let more = StepUpAttempts(spent: 7, inARow: 3, lastAt: Self.at(70), lastBootID: Self.boot)
    #expect(more.noted(over: noted, wasRight: false) == more)
  }

  @Test func pauseBetweenWrongPINs_growsFromOneSecondToThirty() {
    var attempts = StepUpAttempts()
    var now = Self.at(1000)
    var pauses: [Int64] = []
    while attempts.left > 0 {
      let wait = attempts.waiting(at: now, bootID: Self.boot)
      pauses.append(wait.count / 1000)
      if wait > .zero {
        let early = now + wait + Milliseconds(-1)
        var tooEarly = attempts
        let refused = tooEarly.begin(at: early, bootID: Self.boot)
        #expect(refused == .throttled(retryAfter: Milliseconds(1)))
        #expect(tooEarly == attempts, "a refused try is not counted")
      }
      now = now + wait
      let admission = attempts.begin(at: now, bootID: Self.boot)
      #expect(admission == .counted)
    }
    #expect(pauses == [0, 0, 0, 1, 2, 4, 8, 16, 30, 30])
  }

  @Test func rightPIN_endsThePauses() {
    var attempts = StepUpAttempts()
    for _ in 0..<3 { _ = attempts.begin(at: Self.at(5), bootID: Self.boot) }
    let admission = attempts.begin(at: Self.at(6), bootID: Self.boot)
    #expect(admission == .counted)
    attempts.wasRight()
    #expect(attempts.waiting(at: Self.at(6), bootID: Self.boot) == .zero)
    #expect(attempts.left == 7)
  }

  @Test func rebootDuringAPause_restartsTheWholePause() {
    var attempts = StepUpAttempts()
    for _ in 0..<3 { _ = attempts.begin(at: Self.at(5000), bootID: Self.boot) }
    #expect(attempts.waiting(at: Self.at(0), bootID: "boot-2") == .seconds(1))
    #expect(attempts.waiting(at: Self.at(1), bootID: "boot-2") == .zero)
    // A boot clock that ran back belongs to no known boot.
    #expect(attempts.waiting(at: Self.at(1), bootID: Self.boot) == .seconds(1))
  }

  @Test func storedCountsOutOfRange_leaveNoAttempts() {
    let record = { StepUpAttempts(spent: $0, inARow: $1, lastAt: Self.at(0), lastBootID: Self.boot) }
    #expect(record(-1, 0).left == 0)
    #expect(record(.max, .max).left == 0)
    #expect(record(99, -5).waiting(at: Self.at(0), bootID: Self.boot) == .zero)
  }
}
