import AgentCore
import AgentModel
import Testing

/// A provider's answer is kept when the disk fails, the vault is locked, or the account changes.
@Suite struct HeldAnswerTests {
  private let intent = Exchange.intent()

  // MARK: the disk

  @Test func anAnswerThatTheDiskRefusesIsHeldAndItsAttemptFails() {
    var exchange = Exchange()
    exchange.hears()
    #expect(
      exchange.machine.staged(1, .storeFailed) == [
        .report(.held(attempt: 1)), .logFailure(.store, attempt: 1), .report(.failure(.store, attempt: 1)), .publish,
      ])
    #expect(exchange.machine.leftover == .answer(intent))
    #expect(exchange.machine.neededAnswers == [intent.nonce])
    #expect(exchange.step() == .end)
  }

  @Test func aGrantThatTheDiskRefusesIsHeldAndItsAttemptFails() {
    var exchange = Exchange()
    exchange.hears()
    _ = exchange.machine.staged(1, .staged) + exchange.machine.judged(1, .usable)
    _ = exchange.machine.committed(1, .storeFailed)
    #expect(exchange.machine.heldAnswer == intent)
    #expect(exchange.step() == .end)
  }

  @Test func aHeldAnswerIsKeptBeforeANewRequestLeaves() {
    var exchange = Exchange()
    exchange.holds()
    #expect(exchange.begins(as: 2) == [])
    #expect(exchange.step(2) == .stage(intent))
    _ = exchange.machine.staged(2, .staged) + exchange.machine.judged(2, .usable)
    _ = exchange.machine.committed(2, .durable)
    #expect(exchange.machine.heldAnswer == nil)
    _ = exchange.machine.adopted(2, hasToken: true)
    // It never stood in the queue.
    #expect(exchange.machine.ended(2) == [.watchRenewal])
  }

  @Test func aHeldAnswerThatIsUnreadableIsForgotten() {
    var exchange = Exchange()
    exchange.holds()
    exchange.begins(as: 2)
    _ = exchange.machine.staged(2, .staged) + exchange.machine.judged(2, .unreadable)
    #expect(exchange.machine.heldAnswer == nil)
  }

  @Test func anAnswerThatASignInOvertookIsHeldUntilTheNextRunRevokesIt() {
    var exchange = Exchange()
    exchange.hears()
    exchange.machine.signedIn(epoch: 2)
    #expect(exchange.machine.staged(1, .storeFailed) == [])
    #expect(exchange.machine.ended(1) == [.leaveQueue(1)])
    exchange.begins(as: 2)
    #expect(exchange.step(2) == .revokeHeld(intent))
    #expect(exchange.machine.heldAnswer == nil)
    #expect(exchange.machine.neededAnswers == [intent.nonce])
    #expect(exchange.machine.heldWasRevoked(2) == [])
    #expect(exchange.step(2) == .queue)
    #expect(exchange.machine.neededAnswers.isEmpty)
  }

  @Test func aRunWhoseVaultWasLockedDuringARevocationSendsNothing() {
    var exchange = Exchange()
    exchange.hears()
    exchange.machine.signedIn(epoch: 2)
    _ = exchange.machine.staged(1, .storeFailed)
    exchange.begins(as: 2)
    exchange.machine.released()
    #expect(exchange.machine.heldWasRevoked(2) == [])
    #expect(exchange.step(2) == .end)
  }

  @Test func anOvertakenAnswerDoesNotTakeThePlaceOfTheNewGrants() {
    var exchange = Exchange()
    exchange.hears()
    exchange.machine.signedIn(epoch: 2)
    let newer = Exchange.intent(epoch: 2)
    exchange.holds(newer, as: 2)
    _ = exchange.machine.staged(1, .storeFailed)
    #expect(exchange.machine.heldAnswer == newer)
    #expect(exchange.step(1) == .end)
  }

  // MARK: sign-in and sign-out

  @Test func anAnswerThatComesAfterASignInIsRevoked() {
    var exchange = Exchange()
    exchange.hears()
    exchange.machine.signedIn(epoch: 2)
    #expect(exchange.machine.current == nil)
    #expect(exchange.machine.staged(1, .overtaken) == [])
    #expect(exchange.step() == .revokeOvertaken(intent))
    #expect(exchange.machine.overtakenWasRevoked(1) == [])
    #expect(exchange.machine.ended(1) == [.leaveQueue(1)])
  }

  @Test func theEndOfAnOvertakenRunDoesNotEndTheNewOne() {
    var exchange = Exchange()
    exchange.sends()
    exchange.machine.signedIn(epoch: 2)
    exchange.begins(as: 2)
    #expect(exchange.machine.sent(1, .failed(.locked)) == [])
    #expect(exchange.machine.ended(1) == [.leaveQueue(1)])
    #expect(exchange.machine.current == 2)
  }

  @Test func anOvertakenFailureLeavesNothingBehind() {
    var exchange = Exchange()
    exchange.sends()
    exchange.machine.signedIn(epoch: 2)
    exchange.machine.released()
    #expect(exchange.machine.sent(1, .failed(.offline("refused"))) == [])
    #expect(exchange.machine.leftover == .nothing)
    #expect(exchange.step() == .end)
  }

  @Test func anAnswerOfAnEarlierEpochThatIsStagedIsNotJudged() {
    var exchange = Exchange()
    exchange.hears()
    exchange.machine.signedIn(epoch: 2)
    #expect(exchange.machine.staged(1, .staged) == [])
    #expect(exchange.step() == .end)
  }

  @Test func aCommitThatASignOutOvertookChangesNothing() {
    var exchange = Exchange()
    exchange.hears()
    _ = exchange.machine.staged(1, .staged) + exchange.machine.judged(1, .usable)
    #expect(exchange.machine.committed(1, .overtaken) == [])
    #expect(exchange.step() == .end)
  }

  @Test func aSignInForgetsTheHeldAnswerAndTheDoubt() {
    var exchange = Exchange()
    exchange.sends()
    _ = exchange.machine.sent(1, .failed(.unknownOutcome("reset"))) + exchange.machine.settled(1)
    _ = exchange.machine.ended(1)
    exchange.machine.signedIn(epoch: 2)
    #expect(exchange.machine.leftover == .nothing)
    let replay = Exchange.intent(epoch: 2, replay: true)
    exchange.sends(replay, as: 2)
    _ = exchange.machine.sent(2, .failed(.offline("refused")))
    #expect(exchange.step(2) == .settle(replay, .offline("refused"), attempt: 1, .done))
  }

  @Test func aSignOutTakesTheHeldAnswer() {
    var exchange = Exchange()
    exchange.holds()
    #expect(exchange.machine.surrender() == intent)
    #expect(exchange.machine.surrender() == nil)
    exchange.machine.takeBack(intent)
    #expect(exchange.machine.heldAnswer == intent)
  }

  @Test func aSignOutLeavesTheHeldAnswerToTheRunThatKeepsIt() {
    var exchange = Exchange()
    exchange.holds()
    exchange.begins(as: 2)
    #expect(exchange.machine.surrender() == nil)
    #expect(exchange.machine.heldAnswer == intent)
  }

  @Test func anAnswerIsNotTakenBackOverANewerOne() {
    var exchange = Exchange()
    exchange.holds()
    _ = exchange.machine.surrender()
    exchange.machine.signedIn(epoch: 2)
    let newer = Exchange.intent(epoch: 2)
    exchange.holds(newer, as: 2)
    exchange.machine.takeBack(intent)
    #expect(exchange.machine.heldAnswer == newer)
  }

  // MARK: the vault is locked

  @Test func aHeldAnswerGoesToTheInboxOfTheLockedVault() {
    var exchange = Exchange()
    exchange.holds()
    exchange.machine.released()
    exchange.machine.vaultLocked(dropAs: 2)
    #expect(exchange.step(2) == .drop(intent))
    #expect(exchange.machine.dropped(2, .dropped) == [])
    #expect(exchange.machine.heldAnswer == nil)
    #expect(exchange.machine.ended(2) == [.outdateLoads])
  }

  @Test func aHeldAnswerThatTheInboxRefusesStaysInMemory() {
    var exchange = Exchange()
    exchange.holds()
    exchange.machine.released()
    exchange.machine.vaultLocked(dropAs: 2)
    #expect(exchange.machine.dropped(2, .storeFailed) == [])
    #expect(exchange.machine.heldAnswer == intent)
    #expect(exchange.step(2) == .end)
  }

  @Test func aHeldAnswerOfAnEarlierEpochIsRevokedWhenTheVaultIsLocked() {
    var exchange = Exchange()
    exchange.holds()
    exchange.machine.released()
    exchange.machine.vaultLocked(dropAs: 2)
    #expect(exchange.machine.dropped(2, .overtaken) == [])
    #expect(exchange.step(2) == .revokeOvertaken(intent))
    #expect(exchange.machine.heldAnswer == nil)
  }

  @Test func anAnswerThatWasLoadedAgainStaysHeldWhenItsDropEnds() {
    var exchange = Exchange()
    exchange.holds()
    exchange.machine.released()
    exchange.machine.vaultLocked(dropAs: 2)
    exchange.machine.loaded(epoch: 1)
    _ = exchange.machine.dropped(2, .dropped)
    #expect(exchange.machine.heldAnswer == intent)
  }

  @Test func aLockingWithoutAHeldAnswerBeginsNoRun() {
    var exchange = Exchange()
    exchange.machine.released()
    exchange.machine.vaultLocked(dropAs: 1)
    #expect(exchange.step() == nil)
    #expect(exchange.machine.current == nil)
  }

  @Test func aLockingLeavesTheHeldAnswerToTheRunThatKeepsIt() {
    var exchange = Exchange()
    exchange.holds()
    exchange.begins(as: 2)
    exchange.machine.released()
    exchange.machine.vaultLocked(dropAs: 3)
    #expect(exchange.step(3) == nil)
    #expect(exchange.machine.current == 2)
  }

  @Test func anAnswerThatWasDroppedReleasesTheAccount() {
    var exchange = Exchange()
    exchange.hears()
    #expect(exchange.machine.staged(1, .dropped) == [.release])
    #expect(exchange.step() == .end)
    #expect(exchange.machine.ended(1) == [.leaveQueue(1), .outdateLoads])
  }

  @Test func aCommitThatFindsTheVaultLockedReleasesTheAccount() {
    var exchange = Exchange()
    exchange.hears()
    _ = exchange.machine.staged(1, .staged) + exchange.machine.judged(1, .usable)
    #expect(exchange.machine.committed(1, .vaultLocked) == [.release])
    #expect(exchange.step() == .end)
  }

  @Test func aHeldAnswerStaysWhenItsCommitFindsTheVaultLocked() {
    var exchange = Exchange()
    exchange.holds()
    exchange.begins(as: 2)
    _ = exchange.machine.staged(2, .staged) + exchange.machine.judged(2, .usable)
    #expect(exchange.machine.committed(2, .vaultLocked) == [])
    #expect(exchange.machine.heldAnswer == intent)
    #expect(exchange.step(2) == .end)
  }

  @Test func anAnswerThatWasDroppedAndLoadedAgainIsGoneOnWith() {
    var exchange = Exchange()
    exchange.hears()
    exchange.machine.released()
    exchange.machine.loaded(epoch: 1)
    #expect(
      exchange.machine.recover(.answer(intent), generation: 7, bootID: Exchange.bootID, at: Exchange.now)
        == [.report(.answer(.standard, at: Exchange.now))])
    exchange.machine.attemptBegan(Exchange.attempt())
    #expect(exchange.machine.staged(1, .dropped) == [])
    #expect(exchange.machine.heldAnswer == intent)
    #expect(exchange.machine.ended(1) == [.leaveQueue(1), .start(Exchange.attempt()), .watchRenewal])
  }

  @Test func aCommitOfAReleasedAccountIsNotAdopted() {
    var exchange = Exchange()
    exchange.hears()
    _ = exchange.machine.staged(1, .staged) + exchange.machine.judged(1, .usable)
    exchange.machine.released()
    #expect(exchange.machine.committed(1, .durable) == [])
    #expect(exchange.step() == .end)
  }

  @Test(arguments: [
    ExchangeFailure.offline("refused"), .untrustedServer, .transient("status503", retryAfter: nil),
    .unexplained(status: 400), .locked, .interaction(claims: nil), .misconfigured("invalid_client"), .store,
  ])
  func aFailureInALockedVaultIsLeftAndItsTokenNotedAsUnspent(_ failure: ExchangeFailure) {
    var exchange = Exchange()
    exchange.sends()
    exchange.machine.released()
    #expect(exchange.machine.sent(1, .failed(failure)) == [])
    #expect(exchange.machine.leftover == .outcome(intent, failure))
    #expect(exchange.step() == .noteUnspent(intent))
  }

  @Test(arguments: [ExchangeFailure.unknownOutcome("reset"), .reauthenticate(reason: "refused")])
  func aSpentTokenIsNotNotedAsUnspent(_ failure: ExchangeFailure) {
    var exchange = Exchange()
    exchange.sends()
    exchange.machine.released()
    _ = exchange.machine.sent(1, .failed(failure))
    #expect(exchange.machine.leftover == .outcome(intent, failure))
    #expect(exchange.step() == .end)
  }

  @Test func aReplayIsNeverNotedAsUnspent() {
    var exchange = Exchange()
    exchange.sends(Exchange.intent(replay: true))
    exchange.machine.released()
    _ = exchange.machine.sent(1, .failed(.offline("refused")))
    #expect(exchange.step() == .end)
  }

  @Test func aFailureThatWasSettledWhileTheVaultWasLockedIsLeft() {
    var exchange = Exchange()
    exchange.sends()
    _ = exchange.machine.sent(1, .failed(.locked))
    exchange.machine.released()
    #expect(exchange.machine.settled(1) == [])
    #expect(exchange.machine.leftover == .outcome(intent, .locked))
  }
}
