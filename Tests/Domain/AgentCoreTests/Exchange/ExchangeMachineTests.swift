import AgentCore
import AgentModel
import StateWalks
import Testing

/// A run of `ExchangeMachine`, from its attempt to its end.
@Suite struct ExchangeMachineTests {
  private let intent = Exchange.intent()
  /// The intent once it is marked as leaving.
  private let sent = Exchange.intent(leaving: true)

  // MARK: the journal's order

  @Test func run_followsTheJournalAndAnswersLast() {
    var exchange = Exchange()
    #expect(exchange.begins() == [])
    #expect(exchange.step() == .queue)
    #expect(exchange.machine.completed(1, .queued(isAdmitted: true)) == [])
    #expect(exchange.step() == .prepare(Exchange.attempt()))
    #expect(exchange.machine.completed(1, .prepared(.ready(intent))) == [])
    #expect(exchange.step() == .connect(intent))
    #expect(exchange.connects() == Exchange.attempt())
    #expect(exchange.step() == .begin(intent))
    #expect(exchange.machine.began(1, .durable) == true)
    #expect(exchange.step() == .mark(sent))
    #expect(exchange.machine.marked(1, .done) == true)
    #expect(exchange.step() == .send(sent))
    #expect(exchange.machine.completed(1, .sent(.answered(sentAt: Exchange.now))) == [])
    #expect(exchange.step() == .stage(sent))
    #expect(exchange.machine.neededAnswers == [intent.nonce])
    #expect(exchange.machine.completed(1, .staged(.staged)) == [])
    #expect(exchange.step() == .judge(sent))
    #expect(exchange.machine.completed(1, .judged(.usable)) == [])
    #expect(exchange.step() == .commit(sent))
    #expect(exchange.machine.completed(1, .committed(.durable)) == [])
    #expect(exchange.step() == .adopt(sent, takesToken: true))
    #expect(
      exchange.machine.completed(1, .adopted(hasToken: true)) == [
        .report(.token(attempt: 1)), .publish, .tellScopes, .tellRights, .tellRefreshed, .answerWaiters,
        .askAboutRights,
      ])
    #expect(exchange.step() == .end)
    #expect(exchange.machine.completed(1, .ended) == [.leaveQueue(1), .watchRenewal])
    #expect(exchange.step() == nil)
    #expect(exchange.machine.neededAnswers.isEmpty)
    #expect(exchange.machine.current == nil)
  }

  @Test func answer_isStagedUnderItsRequestsTime() {
    var exchange = Exchange()
    exchange.sends()
    let sentAt = Exchange.now + .seconds(3)
    _ = exchange.machine.completed(1, .sent(.answered(sentAt: sentAt)))
    var answered = sent
    answered.boot = sentAt
    #expect(exchange.step() == .stage(answered))
  }

  // MARK: proofs that the provider refuses

  @Test func requestWhoseProofWasRefused_mayLeaveAgainWithItsIntent() {
    var exchange = Exchange()
    exchange.prepares()
    #expect(!exchange.machine.mayLeaveAgain(1))
    _ = exchange.connects()
    #expect(!exchange.machine.mayLeaveAgain(1))
    _ = exchange.machine.began(1, .durable)
    #expect(!exchange.machine.mayLeaveAgain(1))
    _ = exchange.machine.marked(1, .done)
    #expect(exchange.machine.mayLeaveAgain(1))
    #expect(exchange.step() == .send(sent))
    // Between the two the vault is locked: the second one does not leave, and nothing was spent.
    exchange.machine.released()
    #expect(!exchange.machine.mayLeaveAgain(1))
    #expect(exchange.machine.completed(1, .sent(.failed(.offline(.withheld)))) == [])
    #expect(exchange.step() == .noteUnspent(sent))
  }

  @Test func requestOfAnOlderSignIn_doesNotLeaveAgain() {
    var exchange = Exchange()
    exchange.sends()
    exchange.machine.signedIn(epoch: 2)
    #expect(!exchange.machine.mayLeaveAgain(1))
  }

  @Test func grantWithoutAUsableToken_isReportedAsNoToken() {
    var exchange = Exchange()
    exchange.receivesAnswer()
    _ = exchange.machine.completed(1, .staged(.staged)) + exchange.machine.completed(1, .judged(.usable))
    _ = exchange.machine.completed(1, .committed(.durable))
    #expect(
      exchange.machine.completed(1, .adopted(hasToken: false))
        == [.tellRights, .report(.noToken(attempt: 1)), .publish, .askAboutRights])
    #expect(exchange.step() == .end)
  }

  @Test func answerForAnotherAudience_renewsTheGrantWithoutAToken() {
    var exchange = Exchange()
    let kept = Exchange.intent(key: .mail, leaving: true)
    exchange.holds(Exchange.intent(key: .mail))
    exchange.begins(as: 2)
    _ = exchange.machine.completed(2, .staged(.staged)) + exchange.machine.completed(2, .judged(.usable))
    _ = exchange.machine.completed(2, .committed(.durable))
    #expect(exchange.step(2) == .adopt(kept, takesToken: false))
  }

  @Test func secondAttempt_waitsForTheActiveRun() {
    var exchange = Exchange()
    exchange.sends()
    #expect(exchange.begins(Exchange.attempt(.mail), as: 2) == [])
    #expect(exchange.step(2) == nil)
    #expect(exchange.machine.current == 1)
  }

  @Test func abandonedAttempt_beginsNoRun() {
    var exchange = Exchange()
    exchange.machine.attemptBegan(Exchange.attempt())
    exchange.machine.released()
    #expect(exchange.machine.begin(Exchange.attempt(), as: 1) == [])
    #expect(exchange.step() == nil)
  }

  @Test func attemptBegunDuringARun_startsAtItsEnd() {
    var exchange = Exchange()
    exchange.sends()
    _ = exchange.machine.completed(1, .sent(.failed(.offline(.refused)))) + exchange.machine.completed(1, .settled)
    exchange.machine.attemptBegan(Exchange.attempt(.mail))
    #expect(exchange.machine.completed(1, .ended) == [.leaveQueue(1), .start(Exchange.attempt(.mail)), .watchRenewal])
  }

  // MARK: runs that send nothing

  @Test func runRejectedByTheQueue_endsWithoutAFailure() {
    var exchange = Exchange()
    exchange.begins()
    #expect(exchange.machine.completed(1, .queued(isAdmitted: false)) == [])
    #expect(exchange.step() == .end)
    #expect(exchange.machine.completed(1, .ended) == [.start(Exchange.attempt()), .watchRenewal])
  }

  @Test func runLockedInTheQueue_sendsNothing() {
    var exchange = Exchange()
    exchange.begins()
    exchange.machine.released()
    #expect(exchange.machine.completed(1, .queued(isAdmitted: true)) == [])
    #expect(exchange.step() == .end)
    #expect(exchange.machine.completed(1, .ended) == [.leaveQueue(1), .outdateLoads])
  }

  @Test func replayThatComesTooLate_failsWithoutAJournalEntry() {
    var exchange = Exchange()
    let failure = ExchangeFailure.graceElapsed
    exchange.begins()
    _ = exchange.machine.completed(1, .queued(isAdmitted: true))
    #expect(
      exchange.machine.completed(1, .prepared(.graceElapsed))
        == [.logFailure(failure, attempt: 1), .report(.failure(failure, attempt: 1)), .publish])
    #expect(exchange.step() == .end)
  }

  /// Nothing was sent. What that means is durable all the same, or each start would tell the person anew.
  @Test func grantWithoutARefreshToken_failsDurably() {
    var exchange = Exchange()
    let failure = ExchangeFailure.reauthenticate(reason: "noRefreshToken")
    exchange.begins()
    _ = exchange.machine.completed(1, .queued(isAdmitted: true))
    #expect(exchange.machine.completed(1, .prepared(.noRefreshToken)) == [.logFailure(failure, attempt: 1)])
    #expect(exchange.step() == .settle(nil, failure, attempt: 1, .done))
    #expect(exchange.machine.completed(1, .settled) == [.report(.failure(failure, attempt: 1)), .publish])
    #expect(exchange.step() == .end)
  }

  @Test(arguments: [
    ExchangeFailure.offline(.refused), .untrustedServer(.tls), .misconfigured("noTokenEndpoint"), .store,
  ])
  func connectionThatFails_writesNothing(_ failure: ExchangeFailure) {
    var exchange = Exchange()
    exchange.prepares()
    #expect(
      exchange.machine.completed(1, .sent(.failed(failure)))
        == [.logFailure(failure, attempt: 1), .report(.failure(failure, attempt: 1)), .publish])
    #expect(exchange.step() == .end)
  }

  @Test func intent_isStampedWhenTheConnectionStands() {
    var exchange = Exchange()
    exchange.prepares()
    let later = Exchange.now + .seconds(8)
    #expect(exchange.machine.connected(1, at: later, wall: intent.wall + .seconds(8)) == Exchange.attempt())
    var stamped = intent
    (stamped.boot, stamped.wall) = (later, intent.wall + .seconds(8))
    #expect(exchange.step() == .begin(stamped))
  }

  @Test func connectionForAnAttemptThatNoLongerCounts_isNotUsed() {
    for change in [{ $0.machine.released() }, { $0.machine.signedIn(epoch: 2) }] as [(inout Exchange) -> Void] {
      var exchange = Exchange()
      exchange.prepares()
      change(&exchange)
      #expect(exchange.connects() == nil)
      #expect(exchange.machine.completed(1, .sent(.failed(.offline(.withheld)))) == [])
      #expect(exchange.step() == .end)
    }
  }

  @Test func replayWhoseConnectionCameTooLate_isNotSent() {
    var exchange = Exchange()
    exchange.prepares()
    _ = exchange.connects()
    #expect(exchange.machine.began(1, .graceElapsed) == false)
    let failure = ExchangeFailure.unknownOutcome("graceElapsed")
    #expect(
      exchange.machine.completed(1, .sent(.failed(.offline(.withheld))))
        == [.logFailure(failure, attempt: 1), .report(.failure(failure, attempt: 1)), .publish])
    #expect(exchange.step() == .end)
  }

  @Test func intentThatCanNotBeStored_isNotSent() {
    var exchange = Exchange()
    exchange.prepares()
    _ = exchange.connects()
    #expect(exchange.machine.began(1, .storeFailed) == false)
    #expect(
      exchange.machine.completed(1, .sent(.failed(.offline(.withheld))))
        == [.logFailure(.store, attempt: 1), .report(.failure(.store, attempt: 1)), .publish])
    #expect(exchange.step() == .end)
  }

  @Test func intentOfAnEarlierEpoch_isNotSent() {
    var exchange = Exchange()
    exchange.prepares()
    _ = exchange.connects()
    #expect(exchange.machine.began(1, .overtaken) == false)
    #expect(exchange.machine.completed(1, .sent(.failed(.offline(.withheld)))) == [])
    #expect(exchange.step() == .end)
  }

  @Test func intentOvertakenByALock_isRecordedAsUnspent() {
    var exchange = Exchange()
    exchange.prepares()
    _ = exchange.connects()
    exchange.machine.released()
    #expect(exchange.machine.began(1, .durable) == false)
    #expect(exchange.machine.completed(1, .sent(.failed(.offline(.withheld)))) == [])
    #expect(exchange.step() == .noteUnspent(intent))
    #expect(exchange.machine.unfinished.leftover == .outcome(intent, nil))
    #expect(exchange.machine.completed(1, .unspentWasNoted) == [])
    #expect(exchange.step() == .end)
  }

  @Test func intentThatCanNotBeMarked_isNotSentAndLeavesAnEmptyJournal() {
    var exchange = Exchange()
    exchange.begins(durably: intent)
    #expect(exchange.machine.marked(1, .storeFailed) == false)
    #expect(exchange.machine.completed(1, .sent(.failed(.offline(.withheld)))) == [.logFailure(.store, attempt: 1)])
    #expect(exchange.step() == .settle(sent, .store, attempt: 1, .done))
    #expect(exchange.machine.completed(1, .settled) == [.report(.failure(.store, attempt: 1)), .publish])
    #expect(exchange.step() == .end)
  }

  @Test func replayThatCanNotBeMarked_restoresTheFirstRequestInTheJournal() {
    var exchange = Exchange()
    exchange.sends()
    _ =
      exchange.machine.completed(1, .sent(.failed(.unknownOutcome("reset")))) + exchange.machine.completed(1, .settled)
    _ = exchange.machine.completed(1, .ended)
    exchange.begins(durably: Exchange.intent(replay: true), as: 2)
    #expect(exchange.machine.marked(2, .storeFailed) == false)
    _ = exchange.machine.completed(2, .sent(.failed(.offline(.withheld))))
    let replay = Exchange.intent(
      replay: true, leaving: true, firstSent: .init(bootID: Exchange.bootID, boot: Exchange.now))
    #expect(exchange.step(2) == .settle(replay, .store, attempt: 1, .inDoubt(sent)))
  }

  /// Locked before the mark, or right after it.
  @Test(arguments: [ExchangeMachine.Marking.overtaken, .done])
  func markOvertakenByALock_isRecordedAsUnspent(_ marking: ExchangeMachine.Marking) {
    var exchange = Exchange()
    exchange.begins(durably: intent)
    exchange.machine.released()
    #expect(exchange.machine.marked(1, marking) == false)
    #expect(exchange.machine.completed(1, .sent(.failed(.offline(.withheld)))) == [])
    #expect(exchange.step() == .noteUnspent(sent))
    #expect(exchange.machine.unfinished.leftover == .outcome(sent, nil))
  }

  @Test func markOvertakenByASignIn_sendsNothing() {
    var exchange = Exchange()
    exchange.begins(durably: intent)
    exchange.machine.signedIn(epoch: 2)
    #expect(exchange.machine.marked(1, .overtaken) == false)
    #expect(exchange.machine.completed(1, .sent(.failed(.offline(.withheld)))) == [])
    #expect(exchange.step() == .end)
  }

  /// A request that went out without being announced is in doubt as any other.
  @Test func lostAnswerToAnUnannouncedRequest_isMarkedInTheJournal() {
    var exchange = Exchange()
    exchange.prepares()
    _ = exchange.machine.completed(1, .sent(.failed(.unknownOutcome("reset"))))
    #expect(exchange.step() == .settle(sent, .unknownOutcome("reset"), attempt: 1, .inDoubt(sent)))
  }

  // MARK: failed attempts

  @Test(arguments: [
    ExchangeFailure.offline(.refused), .untrustedServer(.tls), .transient("status503", retryAfter: nil),
    .unexplained(status: 400), .reauthenticate(reason: "refused"), .locked, .interaction(claims: nil),
    .misconfigured("invalid_client"), .store,
  ])
  func failedFirstRequest_leavesAnEmptyJournal(_ failure: ExchangeFailure) {
    var exchange = Exchange()
    exchange.sends()
    #expect(exchange.machine.completed(1, .sent(.failed(failure))) == [.logFailure(failure, attempt: 1)])
    #expect(exchange.step() == .settle(sent, failure, attempt: 1, .done))
    #expect(exchange.machine.completed(1, .settled) == [.report(.failure(failure, attempt: 1)), .publish])
    #expect(exchange.step() == .end)
  }

  @Test func lostAnswer_staysInTheJournal() {
    var exchange = Exchange()
    exchange.sends()
    _ = exchange.machine.completed(1, .sent(.failed(.unknownOutcome("reset"))))
    #expect(exchange.step() == .settle(sent, .unknownOutcome("reset"), attempt: 1, .inDoubt(sent)))
  }

  @Test(arguments: [ExchangeFailure.offline(.refused), .untrustedServer(.tls), .store])
  func unsentReplay_restoresTheFirstRequestInTheJournal(_ failure: ExchangeFailure) {
    var exchange = Exchange()
    exchange.sends()
    _ =
      exchange.machine.completed(1, .sent(.failed(.unknownOutcome("reset")))) + exchange.machine.completed(1, .settled)
    _ = exchange.machine.completed(1, .ended)
    exchange.sends(Exchange.intent(replay: true), as: 2)
    _ = exchange.machine.completed(2, .sent(.failed(failure)))
    let replay = Exchange.intent(
      replay: true, leaving: true, firstSent: .init(bootID: Exchange.bootID, boot: Exchange.now))
    #expect(exchange.step(2) == .settle(replay, failure, attempt: 1, .inDoubt(sent)))
  }

  @Test(arguments: [
    ExchangeFailure.unexplained(status: 400), .locked, .interaction(claims: nil), .misconfigured("invalid_client"),
  ])
  func answeredReplay_leavesNothingToRepeat(_ failure: ExchangeFailure) {
    var exchange = Exchange()
    exchange.sends(Exchange.intent(replay: true))
    _ = exchange.machine.completed(1, .sent(.failed(failure)))
    #expect(exchange.step() == .settle(Exchange.intent(replay: true, leaving: true), failure, attempt: 1, .done))
  }

  @Test(arguments: [ExchangeFailure.transient("status503", retryAfter: nil), .unknownOutcome("reset")])
  func unservedReplay_keepsTheUnknownOutcome(_ failure: ExchangeFailure) {
    var exchange = Exchange()
    let replay = Exchange.intent(replay: true, leaving: true)
    exchange.sends(Exchange.intent(replay: true))
    _ = exchange.machine.completed(1, .sent(.failed(failure)))
    #expect(exchange.step() == .settle(replay, failure, attempt: 1, .inDoubt(replay)))
  }

  @Test func refusedReplay_endsTheUnknownOutcome() {
    var exchange = Exchange()
    let replay = Exchange.intent(replay: true, leaving: true)
    exchange.sends(Exchange.intent(replay: true))
    _ = exchange.machine.completed(1, .sent(.failed(.reauthenticate(reason: "refused"))))
    #expect(exchange.step() == .settle(replay, .reauthenticate(reason: "refused"), attempt: 1, .done))
  }

  // MARK: contents of the answer

  @Test(arguments: [
    (ExchangeMachine.Judgement.unreadable, ExchangeFailure.unknownOutcome("unreadableAnswer")),
    (.withoutTokens, .transient("notAnOAuthAnswer", retryAfter: nil)),
  ])
  func unusableAnswer_failsTheAttempt(_ judgement: ExchangeMachine.Judgement, _ failure: ExchangeFailure) {
    var exchange = Exchange()
    exchange.receivesAnswer()
    _ = exchange.machine.completed(1, .staged(.staged))
    #expect(exchange.machine.completed(1, .judged(judgement)) == [.logFailure(failure, attempt: 1)])
    let journal: ExchangeMachine.JournalEnd = judgement == .unreadable ? .inDoubt(sent) : .done
    #expect(exchange.step() == .settle(sent, failure, attempt: 1, journal))
    #expect(exchange.machine.neededAnswers.isEmpty)
  }

  @Test func anotherPersonsAnswer_isRevokedAndRequiresASignIn() {
    var exchange = Exchange()
    exchange.receivesAnswer()
    _ = exchange.machine.completed(1, .staged(.staged))
    #expect(exchange.machine.completed(1, .judged(.anotherPerson(reason: "subjectChanged"))) == [])
    #expect(exchange.step() == .disown(sent, reason: "subjectChanged"))
    let failure = ExchangeFailure.reauthenticate(reason: "subjectChanged")
    #expect(exchange.machine.completed(1, .disowned) == [.forgetRefreshToken, .logFailure(failure, attempt: 1)])
    #expect(exchange.step() == .settle(sent, failure, attempt: 1, .done))
  }

  @Test func newGrant_keepsItsTokenWhenAnotherPersonsAnswerIsRevoked() {
    var exchange = Exchange()
    exchange.receivesAnswer()
    _ =
      exchange.machine.completed(1, .staged(.staged))
      + exchange.machine.completed(1, .judged(.anotherPerson(reason: "subjectChanged")))
    exchange.machine.signedIn(epoch: 2)
    #expect(exchange.machine.completed(1, .disowned) == [])
    #expect(exchange.step() == .end)
  }

  // MARK: reports for another step

  @Test func reportForAnotherStep_changesNothing() {
    var exchange = Exchange()
    exchange.begins()
    let before = exchange
    #expect(exchange.machine.completed(1, .heldWasRevoked) == [])
    #expect(exchange.machine.completed(1, .prepared(.ready(intent))) == [])
    #expect(exchange.connects() == nil)
    #expect(exchange.machine.began(1, .durable) == false)
    #expect(exchange.machine.marked(1, .done) == false)
    #expect(exchange.machine.completed(1, .sent(.failed(.untrustedServer(.tls)))) == [])
    #expect(exchange.machine.completed(1, .staged(.staged)) == [])
    #expect(exchange.machine.completed(1, .judged(.usable)) == [])
    #expect(exchange.machine.completed(1, .disowned) == [])
    #expect(exchange.machine.completed(1, .committed(.durable)) == [])
    #expect(exchange.machine.completed(1, .adopted(hasToken: true)) == [])
    #expect(exchange.machine.completed(1, .settled) == [])
    #expect(exchange.machine.completed(1, .unspentWasNoted) == [])
    #expect(exchange.machine.completed(1, .dropped(.dropped)) == [])
    #expect(exchange.machine.completed(1, .overtakenWasRevoked) == [])
    #expect(exchange.machine.completed(1, .ended) == [])
    #expect(exchange == before)
  }

  @Test func secondReportOfAStep_changesNothing() {
    var exchange = Exchange()
    exchange.begins()
    _ = exchange.machine.completed(1, .queued(isAdmitted: true))
    let before = exchange
    #expect(exchange.machine.completed(1, .queued(isAdmitted: false)) == [])
    #expect(exchange == before)
  }

  @Test func unknownRun_changesNothing() {
    var exchange = Exchange()
    exchange.begins()
    let before = exchange
    #expect(exchange.machine.completed(9, .queued(isAdmitted: true)) == [])
    #expect(exchange.machine.completed(9, .ended) == [])
    #expect(exchange == before)
  }
}
