import AgentCore
import AgentModel
import StateWalks
import Testing

/// The exchange that an account continues when it is loaded.
@Suite struct ExchangeRecoveryTests {
  /// A request that was sent.
  private let intent = Exchange.intent(leaving: true)

  private func recover(
    _ exchange: inout Exchange, _ journal: ExchangeMachine.JournalEntry, generation: UInt64 = 7,
    bootID: String = Exchange.bootID
  ) -> [ExchangeMachine.Effect] {
    exchange.machine.recover(journal, generation: generation, bootID: bootID, at: Exchange.now + .seconds(9))
  }

  @Test func emptyJournal_needsNoRecovery() {
    var exchange = Exchange()
    #expect(recover(&exchange, .empty) == [])
    #expect(exchange.machine.unfinished.leftover == .nothing)
  }

  @Test func unloadedAccount_recoversNothing() {
    var exchange = Exchange()
    exchange.machine.released()
    #expect(recover(&exchange, .intent(intent)) == [])
  }

  @Test func stagedAnswer_isContinued() {
    var exchange = Exchange()
    #expect(recover(&exchange, .answer(intent)) == [.report(.answer(.standard, at: Exchange.now + .seconds(9)))])
    exchange.begins()
    #expect(exchange.step() == .stage(intent))
  }

  @Test func answerInMemory_precedesTheStoredOne() {
    var exchange = Exchange()
    exchange.holds()
    exchange.machine.released()
    exchange.machine.loaded(epoch: 1)
    #expect(recover(&exchange, .intent(intent)) == [.report(.answer(.standard, at: Exchange.now + .seconds(9)))])
    #expect(exchange.machine.unfinished.heldAnswer == intent)
  }

  @Test func heldAnswerOfAnEarlierSignIn_doesNotHideTheStagedOneAndIsRevoked() {
    var exchange = Exchange()
    exchange.holds()
    exchange.machine.released()
    exchange.machine.loaded(epoch: 2)
    let staged = Exchange.intent(epoch: 2, leaving: true)
    #expect(recover(&exchange, .answer(staged)) == [.report(.answer(.standard, at: Exchange.now + .seconds(9)))])
    #expect(exchange.machine.unfinished.heldAnswer == staged)
    #expect(exchange.machine.neededAnswers == [intent.nonce, staged.nonce])
    exchange.begins(as: 2)
    #expect(exchange.step(2) == .revokeHeld(intent))
    #expect(exchange.machine.completed(2, .heldWasRevoked) == [])
    #expect(exchange.step(2) == .stage(staged))
    #expect(exchange.machine.neededAnswers == [staged.nonce])
  }

  @Test func heldAnswerOfAnEarlierSignInAlone_isRevokedByTheNextRun() {
    var exchange = Exchange()
    exchange.holds()
    exchange.machine.released()
    exchange.machine.loaded(epoch: 2)
    #expect(recover(&exchange, .empty) == [])
    exchange.begins(as: 2)
    #expect(exchange.step(2) == .revokeHeld(intent))
  }

  @Test func doubtThatTheLoadingFound_isToBeMadeDurableOnce() {
    var exchange = Exchange()
    _ = recover(&exchange, .intent(intent))
    #expect(end(exchange, intent) == .inDoubt(intent))
    #expect(end(exchange, intent, wasKnown: true) == nil)
    #expect(end(exchange, intent, isInDoubt: false) == nil, "no rotation, no doubt")
    #expect(end(exchange, Exchange.intent(epoch: 2, leaving: true)) == nil)
    let answered = exchange.machine.correction(
      of: .answer(intent), bootID: Exchange.bootID, isInDoubt: true, wasKnown: false)
    #expect(answered == nil)
    exchange.sends()
    #expect(end(exchange, intent) == nil, "a run goes on, and tells the journal itself")
  }

  private func end(
    _ exchange: Exchange, _ found: ExchangeIntent, bootID: String = Exchange.bootID, isInDoubt: Bool = true,
    wasKnown: Bool = false
  ) -> ExchangeMachine.JournalEnd? {
    let correction = exchange.machine.correction(
      of: .intent(found), bootID: bootID, isInDoubt: isInDoubt, wasKnown: wasKnown)
    #expect(correction == nil || correction?.of == found)
    return correction?.end
  }

  // MARK: requests that never left

  @Test func intentWithoutAMark_wasNeverSent() {
    var exchange = Exchange()
    let unsent = Exchange.intent()
    #expect(recover(&exchange, .intent(unsent)) == [])
    #expect(end(exchange, unsent, isInDoubt: false) == .done)
    #expect(end(exchange, unsent, isInDoubt: true, wasKnown: true) == .done)
    // The next request is a first one.
    #expect(exchange.begins() == [])
    #expect(exchange.step() == .queue)
  }

  @Test func intentWithoutAMarkOfAnotherBoot_isInDoubt() {
    var exchange = Exchange()
    let unsent = Exchange.intent()
    #expect(
      recover(&exchange, .intent(unsent), bootID: "next") == [.report(.lostRequest(sentAt: nil, lostReplays: 0))])
    #expect(end(exchange, unsent, bootID: "next") == .inDoubt(intent), "no later reading takes it for unsent")
  }

  @Test func replayWithoutAMark_leavesTheDoubtOfTheFirstRequest() {
    var exchange = Exchange()
    let earlier = BootInstant(milliseconds: 900_000)
    let unsent = Exchange.intent(replay: true, firstSent: .init(bootID: Exchange.bootID, boot: earlier))
    #expect(recover(&exchange, .intent(unsent)) == [.report(.lostRequest(sentAt: earlier, lostReplays: 0))])
    guard case .inDoubt(let first)? = end(exchange, unsent, wasKnown: true) else {
      Issue.record("the doubt must go back into the journal")
      return
    }
    #expect(!first.isReplay && first.isLeaving && first.boot == earlier && first.bootID == Exchange.bootID)
    // A second replay that is not sent goes back to it, too.
    exchange.sends(Exchange.intent(replay: true))
    _ = exchange.machine.completed(1, .sent(.failed(.untrustedServer(.tls))))
    guard case .settle(let replay, _, _, let journal)? = exchange.step() else {
      Issue.record("\(exchange.step() as Any)")
      return
    }
    #expect(journal == .inDoubt(first))
    #expect(replay?.firstSent == unsent.firstSent)
  }

  @Test func replayWithoutAMark_knowsNoTimeOfAnEarlierBoot() {
    for firstSent in [nil, ExchangeIntent.Sending(bootID: "earlier", boot: Exchange.now)] {
      var exchange = Exchange()
      let unsent = Exchange.intent(replay: true, firstSent: firstSent)
      #expect(recover(&exchange, .intent(unsent)) == [.report(.lostRequest(sentAt: nil, lostReplays: 0))])
    }
  }

  @Test func replayWithoutAMarkOfAnotherBoot_countsAsSpent() {
    var exchange = Exchange()
    #expect(
      recover(&exchange, .intent(Exchange.intent(replay: true)), bootID: "next")
        == [.report(.lostRequest(sentAt: nil, lostReplays: 1))])
  }

  // MARK: requests that may have left

  @Test func intentWithoutAnAnswer_hasAnUnknownOutcomeSinceItsSending() {
    var exchange = Exchange()
    #expect(recover(&exchange, .intent(intent)) == [.report(.lostRequest(sentAt: Exchange.now, lostReplays: 0))])
  }

  @Test func timeOfSending_isUnknownAfterAReboot() {
    var exchange = Exchange()
    #expect(
      recover(&exchange, .intent(intent), bootID: "next") == [.report(.lostRequest(sentAt: nil, lostReplays: 0))])
  }

  @Test func unsentReplayAfterARestart_restoresTheIntentOfTheJournal() {
    var exchange = Exchange()
    _ = recover(&exchange, .intent(intent))
    exchange.sends(Exchange.intent(replay: true))
    _ = exchange.machine.completed(1, .sent(.failed(.untrustedServer(.tls))))
    let replay = Exchange.intent(
      replay: true, leaving: true, firstSent: .init(bootID: Exchange.bootID, boot: Exchange.now))
    #expect(exchange.step() == .settle(replay, .untrustedServer(.tls), attempt: 1, .inDoubt(intent)))
  }

  @Test func replayInTheJournal_countsAsSpent() {
    var exchange = Exchange()
    let replay = Exchange.intent(replay: true, leaving: true)
    #expect(recover(&exchange, .intent(replay)) == [.report(.lostRequest(sentAt: Exchange.now, lostReplays: 1))])
  }

  @Test func activeRun_delaysTheRecovery() {
    var exchange = Exchange()
    exchange.sends()
    exchange.machine.released()
    exchange.machine.loaded(epoch: 1)
    #expect(recover(&exchange, .intent(intent)) == [.report(.answer(.standard, at: Exchange.now))])
    #expect(exchange.begins(as: 2) == [])
    #expect(exchange.step(2) == nil)
    // The run ends the attempt that waits for it.
    _ = exchange.machine.completed(1, .sent(.answered(sentAt: Exchange.now)))
    _ = exchange.machine.completed(1, .staged(.staged)) + exchange.machine.completed(1, .judged(.usable))
    _ = exchange.machine.completed(1, .committed(.durable))
    #expect(exchange.machine.completed(1, .adopted(hasToken: true)).first == .report(.token(attempt: 1)))
  }

  @Test(arguments: [ExchangeMachine.JournalEntry.empty, .intent(Exchange.intent(leaving: true))])
  func unrecordedFailure_isRecordedAtTheLoad(_ journal: ExchangeMachine.JournalEntry) {
    var exchange = Exchange()
    exchange.sends()
    exchange.machine.released()
    _ = exchange.machine.completed(1, .sent(.failed(.locked))) + exchange.machine.completed(1, .unspentWasNoted)
    _ = exchange.machine.completed(1, .ended)
    exchange.machine.loaded(epoch: 1)
    #expect(recover(&exchange, journal) == [.report(.answer(.standard, at: Exchange.now))])
    #expect(exchange.begins(as: 2) == [.logFailure(.locked, attempt: 1)])
    #expect(exchange.step(2) == .settle(intent, .locked, attempt: 1, .done))
    #expect(exchange.machine.unfinished.leftover == .nothing)
  }

  @Test func unsentRequest_isSentAfterTheLoad() {
    var exchange = Exchange()
    exchange.begins()
    _ =
      exchange.machine.completed(1, .queued(isAdmitted: true))
      + exchange.machine.completed(1, .prepared(.ready(Exchange.intent())))
    _ = exchange.connects()
    exchange.machine.released()
    _ = exchange.machine.began(1, .durable)
    _ = exchange.machine.completed(1, .sent(.failed(.offline(.withheld))))
    _ = exchange.machine.completed(1, .unspentWasNoted) + exchange.machine.completed(1, .ended)
    exchange.machine.loaded(epoch: 1)
    #expect(recover(&exchange, .empty) == [.report(.answer(.standard, at: Exchange.now))])
    #expect(exchange.begins(as: 2) == [])
    #expect(exchange.step(2) == .queue)
    #expect(exchange.machine.unfinished.leftover == .nothing)
  }

  @Test func failureOfAnOlderGeneration_isForgotten() {
    var exchange = Exchange()
    exchange.sends()
    exchange.machine.released()
    _ =
      exchange.machine.completed(1, .sent(.failed(.locked))) + exchange.machine.completed(1, .unspentWasNoted)
      + exchange.machine.completed(1, .ended)
    exchange.machine.loaded(epoch: 1)
    #expect(recover(&exchange, .empty, generation: 8) == [])
    #expect(exchange.machine.unfinished.leftover == .nothing)
  }

  @Test func failureOfAnEarlierEpoch_isForgotten() {
    var exchange = Exchange()
    exchange.sends()
    exchange.machine.released()
    _ =
      exchange.machine.completed(1, .sent(.failed(.locked))) + exchange.machine.completed(1, .unspentWasNoted)
      + exchange.machine.completed(1, .ended)
    exchange.machine.loaded(epoch: 2)
    #expect(recover(&exchange, .empty) == [])
    #expect(exchange.machine.unfinished.leftover == .nothing)
  }

  @Test func failure_isForgottenForAStagedAnswer() {
    var exchange = Exchange()
    exchange.sends()
    exchange.machine.released()
    _ =
      exchange.machine.completed(1, .sent(.failed(.locked))) + exchange.machine.completed(1, .unspentWasNoted)
      + exchange.machine.completed(1, .ended)
    exchange.machine.loaded(epoch: 1)
    #expect(recover(&exchange, .answer(intent)) == [.report(.answer(.standard, at: Exchange.now + .seconds(9)))])
    #expect(exchange.machine.unfinished.heldAnswer == intent)
  }
}
