import AgentCore
import AgentModel
import StateWalks
import Testing

/// A provider's answer is kept when the disk fails, the vault is locked, or the account changes.
@Suite struct HeldAnswerTests {
  private let intent = Exchange.intent(leaving: true)

  // MARK: the disk

  @Test func answerThatTheDiskRefuses_isHeldAndFailsTheAttempt() {
    var exchange = Exchange()
    exchange.receivesAnswer()
    #expect(
      exchange.machine.completed(1, .staged(.storeFailed)) == [
        .report(.held(attempt: 1)), .logFailure(.store, attempt: 1), .report(.failure(.store, attempt: 1)), .publish,
      ])
    #expect(exchange.machine.unfinished.leftover == .answer(intent))
    #expect(exchange.machine.neededAnswers == [intent.nonce])
    #expect(exchange.step() == .end)
  }

  @Test func grantThatTheDiskRefuses_isHeldAndFailsTheAttempt() {
    var exchange = Exchange()
    exchange.receivesAnswer()
    _ = exchange.machine.completed(1, .staged(.staged)) + exchange.machine.completed(1, .judged(.usable))
    _ = exchange.machine.completed(1, .committed(.storeFailed))
    #expect(exchange.machine.unfinished.heldAnswer == intent)
    #expect(exchange.step() == .end)
  }

  @Test func heldAnswer_isStoredBeforeANewRequest() {
    var exchange = Exchange()
    exchange.holds()
    #expect(exchange.begins(as: 2) == [])
    #expect(exchange.step(2) == .stage(intent))
    _ = exchange.machine.completed(2, .staged(.staged)) + exchange.machine.completed(2, .judged(.usable))
    _ = exchange.machine.completed(2, .committed(.durable))
    #expect(exchange.machine.unfinished.heldAnswer == nil)
    _ = exchange.machine.completed(2, .adopted(hasToken: true))
    // This run was never in the queue.
    #expect(exchange.machine.completed(2, .ended) == [.watchRenewal])
  }

  @Test func unreadableHeldAnswer_isForgotten() {
    var exchange = Exchange()
    exchange.holds()
    exchange.begins(as: 2)
    _ = exchange.machine.completed(2, .staged(.staged)) + exchange.machine.completed(2, .judged(.unreadable))
    #expect(exchange.machine.unfinished.heldAnswer == nil)
  }

  @Test func answerOvertakenByASignIn_isHeldUntilTheNextRunRevokesIt() {
    var exchange = Exchange()
    exchange.receivesAnswer()
    exchange.machine.signedIn(epoch: 2)
    #expect(exchange.machine.completed(1, .staged(.storeFailed)) == [])
    #expect(exchange.machine.completed(1, .ended) == [.leaveQueue(1)])
    exchange.begins(as: 2)
    #expect(exchange.step(2) == .revokeHeld(intent))
    #expect(exchange.machine.unfinished.heldAnswer == nil)
    #expect(exchange.machine.neededAnswers == [intent.nonce])
    #expect(exchange.machine.completed(2, .heldWasRevoked) == [])
    #expect(exchange.step(2) == .queue)
    #expect(exchange.machine.neededAnswers.isEmpty)
  }

  @Test func runLockedDuringARevocation_sendsNothing() {
    var exchange = Exchange()
    exchange.receivesAnswer()
    exchange.machine.signedIn(epoch: 2)
    _ = exchange.machine.completed(1, .staged(.storeFailed))
    exchange.begins(as: 2)
    exchange.machine.released()
    #expect(exchange.machine.completed(2, .heldWasRevoked) == [])
    #expect(exchange.step(2) == .end)
  }

  @Test func overtakenAnswer_doesNotReplaceTheNewGrantsAnswer() {
    var exchange = Exchange()
    exchange.receivesAnswer()
    exchange.machine.signedIn(epoch: 2)
    let newer = Exchange.intent(epoch: 2, leaving: true)
    exchange.holds(newer, as: 2)
    _ = exchange.machine.completed(1, .staged(.storeFailed))
    #expect(exchange.machine.unfinished.heldAnswer == newer)
    #expect(exchange.step(1) == .end)
    #expect(exchange.machine.neededAnswers == [intent.nonce, newer.nonce], "it is still to be revoked")
  }

  // MARK: sign-in and sign-out

  @Test func answerAfterASignIn_isRevoked() {
    var exchange = Exchange()
    exchange.receivesAnswer()
    exchange.machine.signedIn(epoch: 2)
    #expect(exchange.machine.current == nil)
    #expect(exchange.machine.completed(1, .staged(.overtaken)) == [])
    #expect(exchange.step() == .revokeOvertaken(intent))
    #expect(exchange.machine.completed(1, .overtakenWasRevoked) == [])
    #expect(exchange.machine.completed(1, .ended) == [.leaveQueue(1)])
  }

  @Test func endOfAnOvertakenRun_doesNotEndTheNewRun() {
    var exchange = Exchange()
    exchange.sends()
    exchange.machine.signedIn(epoch: 2)
    exchange.begins(as: 2)
    #expect(exchange.machine.completed(1, .sent(.failed(.locked))) == [])
    #expect(exchange.machine.completed(1, .ended) == [.leaveQueue(1)])
    #expect(exchange.machine.current == 2)
  }

  @Test func overtakenFailure_leavesNothing() {
    var exchange = Exchange()
    exchange.sends()
    exchange.machine.signedIn(epoch: 2)
    exchange.machine.released()
    #expect(exchange.machine.completed(1, .sent(.failed(.offline(.refused)))) == [])
    #expect(exchange.machine.unfinished.leftover == .nothing)
    #expect(exchange.step() == .end)
  }

  @Test func stagedAnswerOfAnEarlierEpoch_isNotRead() {
    var exchange = Exchange()
    exchange.receivesAnswer()
    exchange.machine.signedIn(epoch: 2)
    #expect(exchange.machine.completed(1, .staged(.staged)) == [])
    #expect(exchange.step() == .end)
  }

  @Test func commitOvertakenByASignOut_changesNothing() {
    var exchange = Exchange()
    exchange.receivesAnswer()
    _ = exchange.machine.completed(1, .staged(.staged)) + exchange.machine.completed(1, .judged(.usable))
    #expect(exchange.machine.completed(1, .committed(.overtaken)) == [])
    #expect(exchange.step() == .end)
  }

  @Test func signIn_forgetsTheHeldAnswerAndTheUnknownOutcome() {
    var exchange = Exchange()
    exchange.sends()
    _ =
      exchange.machine.completed(1, .sent(.failed(.unknownOutcome("reset")))) + exchange.machine.completed(1, .settled)
    _ = exchange.machine.completed(1, .ended)
    exchange.machine.signedIn(epoch: 2)
    #expect(exchange.machine.unfinished.leftover == .nothing)
    let replay = Exchange.intent(epoch: 2, replay: true, leaving: true)
    exchange.sends(Exchange.intent(epoch: 2, replay: true), as: 2)
    _ = exchange.machine.completed(2, .sent(.failed(.offline(.refused))))
    #expect(exchange.step(2) == .settle(replay, .offline(.refused), attempt: 1, .done))
  }

  @Test func signOut_takesTheHeldAnswer() {
    var exchange = Exchange()
    exchange.holds()
    #expect(exchange.machine.releaseHeldAnswer() == intent)
    #expect(exchange.machine.releaseHeldAnswer() == nil)
    exchange.machine.takeBack(intent)
    #expect(exchange.machine.unfinished.heldAnswer == intent)
  }

  @Test func signOut_leavesTheHeldAnswerToTheRunThatStoresIt() {
    var exchange = Exchange()
    exchange.holds()
    exchange.begins(as: 2)
    #expect(exchange.machine.releaseHeldAnswer() == nil)
    #expect(exchange.machine.unfinished.heldAnswer == intent)
  }

  @Test func returnedAnswer_doesNotReplaceANewerOne() {
    var exchange = Exchange()
    exchange.holds()
    _ = exchange.machine.releaseHeldAnswer()
    exchange.machine.signedIn(epoch: 2)
    let newer = Exchange.intent(epoch: 2, leaving: true)
    exchange.holds(newer, as: 2)
    exchange.machine.takeBack(intent)
    #expect(exchange.machine.unfinished.heldAnswer == newer)
  }

  // MARK: the vault is locked

  @Test func heldAnswer_goesToTheInboxOfALockedVault() {
    var exchange = Exchange()
    exchange.holds()
    exchange.machine.released()
    exchange.machine.vaultLocked(dropAs: 2)
    #expect(exchange.step(2) == .drop(intent))
    #expect(exchange.machine.completed(2, .dropped(.dropped)) == [])
    #expect(exchange.machine.unfinished.heldAnswer == nil)
    #expect(exchange.machine.completed(2, .ended) == [.outdateLoads])
  }

  @Test func heldAnswerThatTheInboxRefuses_staysInMemory() {
    var exchange = Exchange()
    exchange.holds()
    exchange.machine.released()
    exchange.machine.vaultLocked(dropAs: 2)
    #expect(exchange.machine.completed(2, .dropped(.storeFailed)) == [])
    #expect(exchange.machine.unfinished.heldAnswer == intent)
    #expect(exchange.step(2) == .end)
  }

  @Test func heldAnswerOfAnEarlierEpoch_isRevokedAtTheLock() {
    var exchange = Exchange()
    exchange.holds()
    exchange.machine.released()
    exchange.machine.vaultLocked(dropAs: 2)
    #expect(exchange.machine.completed(2, .dropped(.overtaken)) == [])
    #expect(exchange.step(2) == .revokeOvertaken(intent))
    #expect(exchange.machine.unfinished.heldAnswer == nil)
  }

  @Test func reloadedAnswer_staysHeldAfterItsMoveToTheInbox() {
    var exchange = Exchange()
    exchange.holds()
    exchange.machine.released()
    exchange.machine.vaultLocked(dropAs: 2)
    exchange.machine.loaded(epoch: 1)
    _ = exchange.machine.completed(2, .dropped(.dropped))
    #expect(exchange.machine.unfinished.heldAnswer == intent)
  }

  @Test func lockWithoutAHeldAnswer_beginsNoRun() {
    var exchange = Exchange()
    exchange.machine.released()
    exchange.machine.vaultLocked(dropAs: 1)
    #expect(exchange.step() == nil)
    #expect(exchange.machine.current == nil)
  }

  @Test func lock_leavesTheHeldAnswerToTheRunThatStoresIt() {
    var exchange = Exchange()
    exchange.holds()
    exchange.begins(as: 2)
    exchange.machine.released()
    exchange.machine.vaultLocked(dropAs: 3)
    #expect(exchange.step(3) == nil)
    #expect(exchange.machine.current == 2)
  }

  @Test func answerMovedToTheInbox_releasesTheAccount() {
    var exchange = Exchange()
    exchange.receivesAnswer()
    #expect(exchange.machine.completed(1, .staged(.dropped)) == [.release])
    #expect(exchange.step() == .end)
    #expect(exchange.machine.completed(1, .ended) == [.leaveQueue(1), .outdateLoads])
  }

  @Test func commitToALockedVault_releasesTheAccount() {
    var exchange = Exchange()
    exchange.receivesAnswer()
    _ = exchange.machine.completed(1, .staged(.staged)) + exchange.machine.completed(1, .judged(.usable))
    #expect(exchange.machine.completed(1, .committed(.vaultLocked)) == [.release])
    #expect(exchange.step() == .end)
  }

  @Test func heldAnswer_staysAfterACommitToALockedVault() {
    var exchange = Exchange()
    exchange.holds()
    exchange.begins(as: 2)
    _ = exchange.machine.completed(2, .staged(.staged)) + exchange.machine.completed(2, .judged(.usable))
    #expect(exchange.machine.completed(2, .committed(.vaultLocked)) == [])
    #expect(exchange.machine.unfinished.heldAnswer == intent)
    #expect(exchange.step(2) == .end)
  }

  @Test func answerReloadedFromTheInbox_isContinued() {
    var exchange = Exchange()
    exchange.receivesAnswer()
    exchange.machine.released()
    exchange.machine.loaded(epoch: 1)
    #expect(
      exchange.machine.recover(.answer(intent), generation: 7, bootID: Exchange.bootID, at: Exchange.now)
        == [.report(.answer(.standard, at: Exchange.now))])
    exchange.machine.attemptBegan(Exchange.attempt())
    #expect(exchange.machine.completed(1, .staged(.dropped)) == [])
    #expect(exchange.machine.unfinished.heldAnswer == intent)
    #expect(exchange.machine.completed(1, .ended) == [.leaveQueue(1), .start(Exchange.attempt()), .watchRenewal])
  }

  @Test func commitOfAReleasedAccount_isNotAdopted() {
    var exchange = Exchange()
    exchange.receivesAnswer()
    _ = exchange.machine.completed(1, .staged(.staged)) + exchange.machine.completed(1, .judged(.usable))
    exchange.machine.released()
    #expect(exchange.machine.completed(1, .committed(.durable)) == [])
    #expect(exchange.step() == .end)
  }

  @Test(arguments: [
    ExchangeFailure.offline(.refused), .untrustedServer(.tls), .transient("status503", retryAfter: nil),
    .unexplained(status: 400), .locked, .interaction(claims: nil), .misconfigured("invalid_client"), .store,
  ])
  func failureInALockedVault_isLeftAndItsTokenRecordedAsUnspent(_ failure: ExchangeFailure) {
    var exchange = Exchange()
    exchange.sends()
    exchange.machine.released()
    #expect(exchange.machine.completed(1, .sent(.failed(failure))) == [])
    #expect(exchange.machine.unfinished.leftover == .outcome(intent, failure))
    #expect(exchange.step() == .noteUnspent(intent))
  }

  @Test(arguments: [ExchangeFailure.unknownOutcome("reset"), .reauthenticate(reason: "refused")])
  func spentToken_isNotRecordedAsUnspent(_ failure: ExchangeFailure) {
    var exchange = Exchange()
    exchange.sends()
    exchange.machine.released()
    _ = exchange.machine.completed(1, .sent(.failed(failure)))
    #expect(exchange.machine.unfinished.leftover == .outcome(intent, failure))
    #expect(exchange.step() == .end)
  }

  @Test func replay_isNeverRecordedAsUnspent() {
    var exchange = Exchange()
    exchange.sends(Exchange.intent(replay: true))
    exchange.machine.released()
    _ = exchange.machine.completed(1, .sent(.failed(.offline(.refused))))
    #expect(exchange.step() == .end)
  }

  @Test func failureSettledInALockedVault_isLeft() {
    var exchange = Exchange()
    exchange.sends()
    _ = exchange.machine.completed(1, .sent(.failed(.locked)))
    exchange.machine.released()
    #expect(exchange.machine.completed(1, .settled) == [])
    #expect(exchange.machine.unfinished.leftover == .outcome(intent, .locked))
  }
}
