import AgentCore
import AgentModel
import Testing

/// What an import finds in the journal about its token (docs/tokens.md, Imports), by values alone.
@Suite struct RepeatedImportTests {
  typealias Rule = ProviderConfiguration.RefreshRule
  private static let boot = "boot 1"
  private static let sentAt = BootInstant(milliseconds: 1_000_000)

  private static func rule(
    _ reuse: Rule.Reuse, _ onUnknownOutcome: Rule.OnUnknownOutcome = .replayLast, grace: Int64 = 0
  ) -> Rule {
    var rule = Rule()
    (rule.reuse, rule.onUnknownOutcome, rule.graceSeconds) = (reuse, onUnknownOutcome, grace)
    return rule
  }

  private static func request(
    lostReplays: Int? = nil, isLeaving: Bool = true, bootID: String = boot
  ) -> ExchangeIntent {
    ExchangeIntent(
      attempt: 0, epoch: 0, generation: 0, fingerprint: "token", wall: Timestamp(milliseconds: 0), bootID: bootID,
      boot: sentAt, key: .standard, isReplay: lostReplays != nil, lostReplays: lostReplays ?? 0, isLeaving: isLeaving,
      nonce: [1])
  }

  private static func step(
    _ entry: ExchangeMachine.JournalEntry, _ rule: Rule, after pause: Milliseconds = .seconds(1),
    in bootID: String = boot
  ) -> RepeatedImport {
    RepeatedImport(entry, rule: rule, bootID: bootID, at: sentAt + pause)
  }

  @Test func nothingInTheJournal_isSent() {
    #expect(Self.step(.empty, Self.rule(.strict, .reauthenticate)) == .send(lostReplays: nil))
  }

  @Test func requestThatNeverLeft_isSent() {
    let unsent = Self.request(isLeaving: false)
    #expect(Self.step(.intent(unsent), Self.rule(.strict, .reauthenticate)) == .send(lostReplays: nil))
    // After a power cut a missing mark proves nothing.
    #expect(Self.step(.intent(unsent), Self.rule(.strict, .reauthenticate), in: "boot 2") == .refuse)
  }

  @Test(arguments: [Rule.Reuse.none, .grace, .strict], [1, 100_000])
  func storedAnswer_isGoneOnWith_whateverTheRule(reuse: Rule.Reuse, seconds: Int64) {
    #expect(Self.step(.answer(Self.request()), Self.rule(reuse, .reauthenticate), after: .seconds(seconds)) == .goOn)
  }

  @Test(arguments: [nil, 0, 7]) func withoutRotation_isSentAgain(lostReplays: Int?) {
    let entry = ExchangeMachine.JournalEntry.intent(Self.request(lostReplays: lostReplays))
    #expect(Self.step(entry, Self.rule(.none)) == .send(lostReplays: nil))
    #expect(Self.step(entry, Self.rule(.none), in: "boot 2") == .send(lostReplays: nil))
  }

  @Test func strictProviderThatMayEndOtherSessions_isNeverAskedAgain() {
    let rule = Self.rule(.strict, .reauthenticate)
    for pause in [Milliseconds.seconds(1), .seconds(100_000)] {
      #expect(Self.step(.intent(Self.request()), rule, after: pause) == .refuse)
    }
    #expect(Self.step(.intent(Self.request()), rule, in: "boot 2") == .refuse)
  }

  @Test func lastReplay_waitsAndIsSentTwice() {
    let rule = Self.rule(.strict, .replayLast)
    let first = ExchangeMachine.JournalEntry.intent(Self.request())
    #expect(Self.step(first, rule, after: .seconds(1)) == .wait(.seconds(15)))
    // No request takes longer than 30 s.
    #expect(Self.step(first, rule, after: .seconds(40)) == .wait(.seconds(5)))
    #expect(Self.step(first, rule, after: .seconds(45)) == .send(lostReplays: 0))
    #expect(Self.step(first, rule, in: "boot 2") == .send(lostReplays: 0))
    let second = ExchangeMachine.JournalEntry.intent(Self.request(lostReplays: 0))
    #expect(Self.step(second, rule, after: .seconds(45)) == .wait(.seconds(15)))
    #expect(Self.step(second, rule, after: .seconds(60)) == .send(lostReplays: 1))
    let third = ExchangeMachine.JournalEntry.intent(Self.request(lostReplays: 1))
    #expect(Self.step(third, rule, after: .seconds(100_000)) == .refuse)
  }

  @Test func grace_allowsOneReplayAtOnceInItsFirstHalf() {
    let rule = Self.rule(.grace, .reauthenticate, grace: 60)
    let first = ExchangeMachine.JournalEntry.intent(Self.request())
    #expect(Self.step(first, rule, after: .seconds(29)) == .send(lostReplays: 0))
    #expect(Self.step(first, rule, after: .seconds(30)) == .refuse)
    #expect(Self.step(first, rule, in: "boot 2") == .refuse)
    #expect(Self.step(.intent(Self.request(lostReplays: 0)), rule) == .refuse)
  }

  @Test func replayOnce_isSentOnceMore() {
    let rule = Self.rule(.strict, .replayOnce)
    #expect(Self.step(.intent(Self.request()), rule) == .send(lostReplays: 0))
    #expect(Self.step(.intent(Self.request(lostReplays: 0)), rule) == .refuse)
  }

  @Test(arguments: [
    ExchangeFailure.unknownOutcome("timedOut"), .transient("status502", retryAfter: nil),
  ])
  func lostAnswer_staysInTheJournal(failure: ExchangeFailure) {
    for isReplay in [false, true] {
      #expect(RepeatedImport.end(after: failure, rule: Self.rule(.strict), isReplay: isReplay) == .request)
    }
  }

  @Test func refusals_leaveTheJournal() {
    let refused = ExchangeFailure.reauthenticate(reason: "refused")
    #expect(RepeatedImport.end(after: refused, rule: Self.rule(.strict), isReplay: false) == .nothing)
    #expect(RepeatedImport.end(after: refused, rule: Self.rule(.strict), isReplay: true) == .nothing)
  }

  @Test(arguments: [
    ExchangeFailure.offline(.refused), .misconfigured("invalid_client"), .transient("busy", retryAfter: nil),
  ])
  func requestThatWasNotServed_leavesTheDoubtAsItWas(failure: ExchangeFailure) {
    #expect(RepeatedImport.end(after: failure, rule: Self.rule(.strict), isReplay: false) == .nothing)
    #expect(RepeatedImport.end(after: failure, rule: Self.rule(.strict), isReplay: true) == .earlier)
  }
}
