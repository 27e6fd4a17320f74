import AgentCore
import AgentModel
import Testing

/// The exchange that an account continues when it is loaded.
@Suite struct ExchangeRecoveryTests {
  private let intent = Exchange.intent()

  private func recover(
    _ exchange: inout Exchange, _ journal: ExchangeMachine.JournalEntry, generation: UInt64 = 7,
    bootID: String = Exchange.bootID
  ) -> [ExchangeMachine.Effect] {
    exchange.machine.recover(journal, generation: generation, bootID: bootID, at: Exchange.now + .seconds(9))
  }

  @Test func emptyJournal_needsNoRecovery() {
    var exchange = Exchange()
    #expect(recover(&exchange, .empty) == [])
    #expect(exchange.machine.leftover == .nothing)
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
    #expect(exchange.machine.heldAnswer == intent)
  }

  @Test func heldAnswerOfAnEarlierSignIn_doesNotHideTheStagedOneAndIsRevoked() {
    var exchange = Exchange()
    exchange.holds()
    exchange.machine.released()
    exchange.machine.loaded(epoch: 2)
    let staged = Exchange.intent(epoch: 2)
    #expect(recover(&exchange, .answer(staged)) == [.report(.answer(.standard, at: Exchange.now + .seconds(9)))])
    #expect(exchange.machine.heldAnswer == staged)
    #expect(exchange.machine.neededAnswers == [intent.nonce, staged.nonce])
    exchange.begins(as: 2)
    #expect(exchange.step(2) == .revokeHeld(intent))
    #expect(exchange.machine.heldWasRevoked(2) == [])
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
    let machine = exchange.machine
    #expect(machine.newDoubt(in: .intent(intent), isInDoubt: true, wasKnown: false) == intent)
    #expect(machine.newDoubt(in: .intent(intent), isInDoubt: true, wasKnown: true) == nil)
    #expect(machine.newDoubt(in: .intent(intent), isInDoubt: false, wasKnown: false) == nil, "no rotation, no doubt")
    #expect(machine.newDoubt(in: .answer(intent), isInDoubt: true, wasKnown: false) == nil)
    #expect(machine.newDoubt(in: .intent(Exchange.intent(epoch: 2)), isInDoubt: true, wasKnown: false) == nil)
    exchange.sends()
    #expect(
      exchange.machine.newDoubt(in: .intent(intent), isInDoubt: true, wasKnown: false) == nil,
      "a run goes on, and tells the journal itself")
  }

  @Test func intentWithoutAnAnswer_hasAnUnknownOutcomeSinceItsSending() {
    var exchange = Exchange()
    #expect(recover(&exchange, .intent(intent)) == [.report(.lostRequest(sentAt: Exchange.now, wasReplay: false))])
  }

  @Test func timeOfSending_isUnknownAfterAReboot() {
    var exchange = Exchange()
    #expect(
      recover(&exchange, .intent(intent), bootID: "next") == [.report(.lostRequest(sentAt: nil, wasReplay: false))])
  }

  @Test func unsentReplayAfterARestart_restoresTheIntentOfTheJournal() {
    var exchange = Exchange()
    _ = recover(&exchange, .intent(intent))
    let replay = Exchange.intent(replay: true)
    exchange.sends(replay)
    _ = exchange.machine.sent(1, .failed(.untrustedServer(.tls)))
    #expect(exchange.step() == .settle(replay, .untrustedServer(.tls), attempt: 1, .inDoubt(intent)))
  }

  @Test func replayInTheJournal_countsAsSpent() {
    var exchange = Exchange()
    let replay = Exchange.intent(replay: true)
    #expect(recover(&exchange, .intent(replay)) == [.report(.lostRequest(sentAt: Exchange.now, wasReplay: true))])
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
    _ = exchange.machine.sent(1, .answered(sentAt: Exchange.now))
    _ = exchange.machine.staged(1, .staged) + exchange.machine.judged(1, .usable)
    _ = exchange.machine.committed(1, .durable)
    #expect(exchange.machine.adopted(1, hasToken: true).first == .report(.token(attempt: 1)))
  }

  @Test(arguments: [ExchangeMachine.JournalEntry.empty, .intent(Exchange.intent())])
  func unrecordedFailure_isRecordedAtTheLoad(_ journal: ExchangeMachine.JournalEntry) {
    var exchange = Exchange()
    exchange.sends()
    exchange.machine.released()
    _ = exchange.machine.sent(1, .failed(.locked)) + exchange.machine.unspentWasNoted(1)
    _ = exchange.machine.ended(1)
    exchange.machine.loaded(epoch: 1)
    #expect(recover(&exchange, journal) == [.report(.answer(.standard, at: Exchange.now))])
    #expect(exchange.begins(as: 2) == [.logFailure(.locked, attempt: 1)])
    #expect(exchange.step(2) == .settle(intent, .locked, attempt: 1, .done))
    #expect(exchange.machine.leftover == .nothing)
  }

  @Test func unsentRequest_isSentAfterTheLoad() {
    var exchange = Exchange()
    exchange.begins()
    _ = exchange.machine.queued(1, isAdmitted: true) + exchange.machine.prepared(1, .ready(intent))
    _ = exchange.connects()
    exchange.machine.released()
    _ = exchange.machine.began(1, .durable)
    _ = exchange.machine.sent(1, .failed(.offline("withheld")))
    _ = exchange.machine.unspentWasNoted(1) + exchange.machine.ended(1)
    exchange.machine.loaded(epoch: 1)
    #expect(recover(&exchange, .empty) == [.report(.answer(.standard, at: Exchange.now))])
    #expect(exchange.begins(as: 2) == [])
    #expect(exchange.step(2) == .queue)
    #expect(exchange.machine.leftover == .nothing)
  }

  @Test func failureOfAnOlderGeneration_isForgotten() {
    var exchange = Exchange()
    exchange.sends()
    exchange.machine.released()
    _ = exchange.machine.sent(1, .failed(.locked)) + exchange.machine.unspentWasNoted(1) + exchange.machine.ended(1)
    exchange.machine.loaded(epoch: 1)
    #expect(recover(&exchange, .empty, generation: 8) == [])
    #expect(exchange.machine.leftover == .nothing)
  }

  @Test func failureOfAnEarlierEpoch_isForgotten() {
    var exchange = Exchange()
    exchange.sends()
    exchange.machine.released()
    _ = exchange.machine.sent(1, .failed(.locked)) + exchange.machine.unspentWasNoted(1) + exchange.machine.ended(1)
    exchange.machine.loaded(epoch: 2)
    #expect(recover(&exchange, .empty) == [])
    #expect(exchange.machine.leftover == .nothing)
  }

  @Test func failure_isForgottenForAStagedAnswer() {
    var exchange = Exchange()
    exchange.sends()
    exchange.machine.released()
    _ = exchange.machine.sent(1, .failed(.locked)) + exchange.machine.unspentWasNoted(1) + exchange.machine.ended(1)
    exchange.machine.loaded(epoch: 1)
    #expect(recover(&exchange, .answer(intent)) == [.report(.answer(.standard, at: Exchange.now + .seconds(9)))])
    #expect(exchange.machine.heldAnswer == intent)
  }
}
