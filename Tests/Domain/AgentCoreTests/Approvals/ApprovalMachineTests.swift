import AgentCore
import AgentModel
import Testing

/// One request that waits for a person. Its states: `Schemas/generated/approval-states.md`.
@Suite struct ApprovalMachineTests {
  typealias Machine = ApprovalMachine

  private static func moment(_ seconds: Int64) -> BootInstant { BootInstant(milliseconds: seconds * 1_000) }

  private static func waiting(grantEndsAt: BootInstant? = nil) -> Machine {
    Machine(askedBy: 1, until: moment(60), grantEndsAt: grantEndsAt)
  }

  @Test(arguments: Machine.Verdict.allCases)
  func verdict_isRecordedBeforeACallerActsOnIt(verdict: Machine.Verdict) throws {
    var machine = Self.waiting()
    #expect(machine.joined(by: 2) == true)
    #expect(machine.decided(verdict, by: .call) == [.record(verdict, .call)])
    let kept: [Machine.Effect] =
      switch verdict {
      case .once: []
      case .session: [.keepAllowance(.call)]
      case .deny: [.keepRefusal]
      }
    let end = Machine.End.decided(verdict, .call)
    #expect(machine.recorded() == kept + [.answer(1, end), .answer(2, end), .tell(end)])
    #expect(machine.hasEnded)
  }

  @Test func secondVerdict_isNone() {
    var machine = Self.waiting()
    #expect(machine.decided(.once, by: .pinentry) != nil)
    #expect(machine.decided(.deny, by: .call) == nil, "while the first is written")
    _ = machine.recorded()
    #expect(machine.decided(.deny, by: .call) == nil)
    #expect(machine.recorded() == [])
  }

  @Test func verdictAboutAnotherRequest_endsOneThatWaits_andNoneThatHasItsOwn() {
    var machine = Self.waiting()
    let end = Machine.End.decided(.session, .call)
    #expect(machine.allowed(by: .call) == [.answer(1, end), .tell(end)])
    #expect(machine.allowed(by: .call) == [])
    machine = Self.waiting()
    _ = machine.decided(.deny, by: .call)
    #expect(machine.allowed(by: .call) == [])
    #expect(machine.recorded().contains(.answer(1, .decided(.deny, .call))))
  }

  @Test func verdictThatIsNotRecorded_isNone() {
    var machine = Self.waiting()
    _ = machine.decided(.once, by: .call)
    #expect(machine.notRecorded() == [])
    #expect(machine.isWaiting)
    #expect(machine.decided(.deny, by: .call) == [.record(.deny, .call)])
  }

  @Test func withoutAVerdict_itEndsAtItsTime() {
    var machine = Self.waiting()
    #expect(machine.nextMoment == Self.moment(60))
    #expect(machine.passed(to: Self.moment(59)) == [])
    #expect(machine.passed(to: Self.moment(60)) == [.answer(1, .timedOut), .tell(.timedOut)])
    #expect(machine.nextMoment == nil)
    #expect(machine.decided(.once, by: .call) == nil)
  }

  @Test func verdictInTime_countsAlsoIfTheDiskIsSlow() {
    var machine = Self.waiting()
    _ = machine.decided(.once, by: .call)
    #expect(machine.passed(to: Self.moment(61)) == [])
    #expect(machine.recorded().contains(.answer(1, .decided(.once, .call))))
  }

  @Test func callersThatLeave_withdrawIt() {
    var machine = Self.waiting()
    _ = machine.joined(by: 2)
    #expect(machine.left(1) == [])
    #expect(machine.left(2) == [.tell(.withdrawn)])
    #expect(machine.joined(by: 3) == false)
  }

  @Test func verdictOfARequestWhoseCallersLeft_isKept() {
    var machine = Self.waiting()
    _ = machine.decided(.session, by: .call)
    #expect(machine.left(1) == [])
    #expect(machine.recorded() == [.keepAllowance(.call), .tell(.decided(.session, .call))])
    machine = Self.waiting()
    _ = machine.decided(.session, by: .call)
    _ = machine.left(1)
    #expect(machine.notRecorded() == [.tell(.withdrawn)])
  }

  @Test func grantThatEnds_endsIt_alsoWhileAVerdictIsWritten() {
    var machine = Self.waiting(grantEndsAt: Self.moment(30))
    #expect(machine.nextMoment == Self.moment(30))
    _ = machine.decided(.once, by: .call)
    #expect(machine.passed(to: Self.moment(30)) == [.answer(1, .grantEnded), .tell(.grantEnded)])
    #expect(machine.recorded() == [], "a verdict that comes too late allows nothing")
    machine = Self.waiting()
    #expect(machine.grantEnded() == [.answer(1, .grantEnded), .tell(.grantEnded)])
    #expect(machine.grantEnded() == [])
  }

  @Test func lockAndEndOfTheAgent_answerTheCallers() {
    var machine = Self.waiting()
    #expect(machine.locked() == [.answer(1, .locked), .tell(.locked)])
    #expect(machine.shutDown() == [])
    machine = Self.waiting()
    #expect(machine.shutDown() == [.answer(1, .shuttingDown), .tell(.shuttingDown)])
  }

  /// Whatever happens in whatever order: each caller gets one answer, the end is told once, and an approval follows a
  /// verdict that was recorded.
  @Test(arguments: 1...200)
  func eachCallerGetsOneAnswer(seed: Int) {
    var random = TokenMachineProperties.Random(state: UInt64(seed))
    var machine = Self.waiting(grantEndsAt: seed % 3 == 0 ? Self.moment(45) : nil)
    var (waiting, answers, ends): (Set<UInt64>, [UInt64: Int], Int) = ([1], [:], 0)
    var (next, now): (UInt64, Int64) = (2, 0)
    var recorded = false
    for _ in 0..<30 {
      var effects: [Machine.Effect] = []
      switch Int.random(in: 0..<10, using: &random) {
      case 0:
        if machine.joined(by: next) { waiting.insert(next) }
        next += 1
      case 1:
        let left = UInt64.random(in: 1..<next, using: &random)
        waiting.remove(left)
        effects = machine.left(left)
      case 2, 3: effects = machine.decided(Machine.Verdict.allCases.randomElement(using: &random)!, by: .call) ?? []
      case 4:
        effects = machine.recorded()
        recorded = recorded || !effects.isEmpty
      case 5: effects = machine.notRecorded()
      case 6:
        now += Int64.random(in: 0..<20, using: &random)
        effects = machine.passed(to: Self.moment(now))
      case 7:
        effects = machine.allowed(by: .call)
        // Another request's verdict was.
        recorded = recorded || !effects.isEmpty
      case 8: effects = seed % 2 == 0 ? machine.grantEnded() : []
      default: effects = seed % 5 == 0 ? machine.locked() : []
      }
      for effect in effects {
        switch effect {
        case .answer(let asker, let end):
          answers[asker, default: 0] += 1
          #expect(waiting.remove(asker) != nil, "a caller that left, or was answered, is answered")
          if case .decided = end { #expect(recorded) }
        case .tell: ends += 1
        default: break
        }
      }
    }
    _ = machine.shutDown().map { if case .answer(let asker, _) = $0 { waiting.remove(asker) } else { ends += 1 } }
    #expect(answers.values.allSatisfy { $0 == 1 })
    #expect(waiting.isEmpty, "nobody waits for ever")
    #expect(ends == 1)
  }
}
