import AgentCore
import AgentModel
import StateWalks
import Testing

/// I4: a refresh token whose last use has an unknown outcome is sent again only as the provider's rule allows.
@Suite struct UnknownOutcomeTests {
  static let doubt = TokenMachine.Refusal.reauthenticate(reason: "outcomeUnknown")
  static let lost = ExchangeFailure.unknownOutcome("timedOut")

  @Test func lostAnswerWithoutRotation_isRetried() {
    var grant = Grant(reuse: .none)
    let (id, _) = grant.wants()
    let effects = grant.fails(Self.lost)
    #expect(effects.refusals == [id: .noAnswer(.ended(retryAfter: Milliseconds(833)))])
    #expect(grant.machine.health == .ok && effects.tellsPerson.isEmpty)
    grant.now = grant.machine.nextAttemptAt!
    let again = grant.wants().effects.exchanges
    #expect(again.count == 1 && again.first?.isReplay == false)
  }

  @Test func lostAnswerOfAStrictProvider_isNotRetried() {
    var grant = Grant.fresh()
    grant.advance(260)
    let waits = grant.wants().id
    let effects = grant.fails(Self.lost)
    #expect(grant.machine.health == .unknown && effects.contains(.persistHealth))
    // The token is served until it expires; then a sign-in is needed, and the person is told.
    #expect(effects.tellsPerson.isEmpty && grant.machine.stateMayChange(at: grant.now) == grant.now + .seconds(40))
    #expect(effects.contains(.answer(waits, serial: 1, .staleOk)))
    let (stale, served) = grant.wants()
    #expect(served == [.answer(stale, serial: 1, .staleOk)])
    let (forced, refused) = grant.wants(.forced)
    #expect(refused == [.refuse(forced, Self.doubt)])
    grant.advance(40)
    let (late, end) = grant.wants()
    #expect(end.refusals == [late: Self.doubt] && end.tellsPerson == ["outcomeUnknown"])
    grant.advance(1_000_000)
    grant.machine.reconnected()
    #expect(grant.wants().effects.exchanges.isEmpty)
  }

  @Test func lostAnswerWithinHalfTheGrace_isReplayedOnce() {
    var grant = Grant(reuse: .grace, grace: 60)
    let (id, _) = grant.wants()
    grant.advance(29)
    let effects = grant.fails(Self.lost)
    #expect(effects.exchanges.count == 1 && effects.exchanges[0].isReplay && effects.refusals.isEmpty)
    #expect(effects.tellsPerson.isEmpty)
    #expect(grant.succeeds().answers == [id: 1] && grant.machine.health == .ok)
  }

  @Test func lostAnswerAfterHalfTheGrace_isNotReplayed() {
    var grant = Grant(reuse: .grace, grace: 60)
    let (id, _) = grant.wants()
    grant.advance(30)
    let effects = grant.fails(Self.lost)
    #expect(effects.exchanges.isEmpty && effects.refusals == [id: Self.doubt])
    #expect(effects.tellsPerson == ["outcomeUnknown"])
  }

  /// The state changes by time alone, at a moment that the machine names.
  @Test func graceThatEndsWithoutAReplay_isToldAtItsEnd() {
    var grant = Grant(reuse: .grace, grace: 60)
    grant.wants()
    grant.fails(Self.lost)
    #expect(grant.machine.stateMayChange(at: grant.now) == nil, "the replay is in flight")
    let sentAt = grant.now
    grant.fails(.offline(.refused))
    #expect(grant.machine.stateMayChange(at: grant.now) == sentAt + .seconds(30))
    #expect(grant.noted([]).isEmpty)
    grant.advance(30)
    let effects = grant.noted([])
    #expect(effects.states == [.reauthenticationRequired] && effects.tellsPerson == ["outcomeUnknown"])
    #expect(grant.noted([]).isEmpty && grant.machine.stateMayChange(at: grant.now) == nil)
  }

  @Test(arguments: [true, false])
  func replayRule_allowsOneReplay(hasGrace: Bool) {
    var grant =
      hasGrace ? Grant(reuse: .grace, grace: 1000) : Grant(reuse: .strict, onUnknownOutcome: .replayOnce)
    let (id, _) = grant.wants()
    #expect(grant.fails(Self.lost).exchanges.map(\.isReplay) == [true])
    let effects = grant.fails(Self.lost)
    #expect(effects.exchanges.isEmpty && effects.refusals == [id: Self.doubt])
    #expect(effects.tellsPerson == ["outcomeUnknown"])
    #expect(grant.wants().effects.exchanges.isEmpty)
  }

  @Test(arguments: [
    ExchangeFailure.offline(.refused), .untrustedServer(.tls), .store, .transient("status503", retryAfter: nil),
  ])
  func replayThatWasNotServed_isNotSpent(failure: ExchangeFailure) {
    var grant = Grant(reuse: .grace, grace: 600)
    grant.wants()
    grant.fails(Self.lost)
    for _ in 0..<3 {
      let effects = grant.fails(failure)
      #expect(effects.tellsPerson.isEmpty && effects.exchanges.isEmpty && grant.machine.health == .unknown)
      grant.now = grant.machine.nextAttemptAt!
      #expect(grant.wants().effects.exchanges.map(\.isReplay) == [true])
    }
    grant.fails(failure)
    grant.advance(301)  // half of the grace since the first sending is over
    #expect(grant.wants().effects.refusals.values.first == Self.doubt)
  }

  /// An answer to the replay that does not settle the first request ends the right to replay, and asks for a sign-in.
  @Test(arguments: [
    ExchangeFailure.unexplained(status: 400), .interaction(claims: nil), .misconfigured("invalid_client"),
  ])
  func replayThatWasAnswered_isSpent(failure: ExchangeFailure) {
    var grant = Grant(reuse: .strict, onUnknownOutcome: .replayOnce)
    let (id, _) = grant.wants()
    grant.fails(Self.lost)
    let effects = grant.fails(failure)
    #expect(effects.refusals == [id: Self.doubt] && effects.tellsPerson == ["outcomeUnknown"])
    grant.advance(100_000)
    #expect(grant.wants().effects.exchanges.isEmpty)
    _ = grant.machine.reconfigured(rule: Grant.rule(.strict, .replayOnce))
    #expect(grant.wants().effects.exchanges.isEmpty && grant.machine.health == .unknown)
  }

  @Test(arguments: [
    (ExchangeFailure.reauthenticate(reason: "refused"), TokenMachine.Health.reauthenticate(reason: "refused")),
    (.locked, .locked),
  ])
  func definiteAnswerToAReplay_endsTheUnknownOutcome(failure: ExchangeFailure, health: TokenMachine.Health) {
    var grant = Grant(reuse: .strict, onUnknownOutcome: .replayOnce)
    grant.wants()
    grant.fails(Self.lost)
    grant.fails(failure)
    #expect(grant.machine.health == health)
  }

  @Test func failedConnection_isNoUnknownOutcome() {
    var grant = Grant()
    grant.wants()
    grant.fails(.offline(.nameNotFound))
    #expect(grant.machine.health == .ok)
    grant.now = grant.machine.nextAttemptAt!
    #expect(grant.wants().effects.exchanges.map(\.isReplay) == [false])
  }

  @Test func ruleWithoutRotation_endsTheUnknownOutcome() {
    var grant = Grant()
    grant.wants()
    grant.fails(Self.lost)
    #expect(grant.noted(grant.machine.reconfigured(rule: Grant.rule(.none))).contains(.persistHealth))
    #expect(grant.wants().effects.exchanges.map(\.isReplay) == [false])
    #expect(Grant(.unknown, reuse: .none).machine.health == .ok)
  }

  @Test func replayOnceConfiguredAfterwards_allowsOneReplay() {
    var grant = Grant()
    grant.wants()
    grant.fails(Self.lost)
    _ = grant.machine.reconfigured(rule: Grant.rule(.strict, .replayOnce))
    #expect(grant.wants().effects.exchanges.map(\.isReplay) == [true])
    #expect(grant.fails(Self.lost).tellsPerson == ["outcomeUnknown"])
    #expect(grant.wants().effects.exchanges.isEmpty)
  }

  // MARK: the last replay

  @Test func lastReplay_comesWhenTheTokenHasExpired() {
    var grant = Grant.fresh(onUnknownOutcome: .replayLast)
    grant.advance(260)
    let waits = grant.wants().id
    let effects = grant.fails(Self.lost)
    #expect(grant.machine.health == .unknown && effects.tellsPerson.isEmpty)
    #expect(effects.contains(.answer(waits, serial: 1, .staleOk)))
    // A caller that wants another token than the one at hand is told when.
    #expect(grant.wants(.forced).effects.refusals.values.first == .noAnswer(.inDoubt(retryAfter: .seconds(40))))
    #expect(grant.wants(.usable(minimumLifetime: .zero), .mail).effects.exchanges.isEmpty)
    grant.advance(40)
    let (late, replay) = grant.wants()
    #expect(replay.exchanges.map(\.isReplay) == [true] && grant.machine.mayRecover(at: grant.now))
    #expect(grant.succeeds().answers == [late: 2] && grant.machine.health == .ok)
  }

  /// Whatever dropped the connection has time to get out of the way.
  @Test(arguments: [(0, 15), (0.5, 22), (1, 30)] as [(Double, Int64)])
  func lastReplay_waitsFifteenSecondsAndMore(jitter: Double, seconds: Int64) {
    var grant = Grant(onUnknownOutcome: .replayLast)
    let (id, _) = grant.wants()
    let effects = grant.fails(Self.lost, jitter: jitter)
    guard case .noAnswer(.inDoubt(let pause))? = effects.refusals[id] else { return #expect(effects.isEmpty) }
    #expect(pause.count / 1000 == seconds && effects.exchanges.isEmpty && effects.tellsPerson.isEmpty)
    grant.advance(seconds - 1)
    #expect(grant.wants(.forced).effects.exchanges.isEmpty)
    grant.advance(2)
    #expect(grant.wants().effects.exchanges.map(\.isReplay) == [true])
  }

  /// The provider answered, and its callers are not told that it was silent.
  @Test(
    arguments: [
      ("status502", true), ("status500", true), ("unreadableAnswer", true), ("timedOut", false), ("reset", false),
    ] as [(String, Bool)])
  func answerThatLeavesTheOutcomeOpen_isNotToldAsSilence(reason: String, isUnclear: Bool) {
    var grant = Grant(onUnknownOutcome: .replayLast)
    let (id, _) = grant.wants()
    let pause = Milliseconds.seconds(15)
    let told: TokenMachine.Silence = isUnclear ? .unclear(retryAfter: pause) : .inDoubt(retryAfter: pause)
    #expect(grant.fails(.unknownOutcome(reason), jitter: 0).refusals == [id: .noAnswer(told)])
  }

  /// The provider never took the token: dropped connections alone end no session.
  @Test func twoDroppedConnections_endNoSession() {
    var grant = Grant(onUnknownOutcome: .replayLast)
    grant.wants()
    grant.fails(.unknownOutcome(ExchangeFailure.reset))
    grant.advance(30)
    grant.wants()
    let effects = grant.fails(.unknownOutcome(ExchangeFailure.reset), jitter: 0)
    #expect(effects.tellsPerson.isEmpty && effects.exchanges.isEmpty && grant.machine.mayRecover(at: grant.now))
    grant.advance(29)
    #expect(grant.wants().effects.exchanges.isEmpty, "the pause doubles")
    grant.advance(1)
    #expect(grant.wants().effects.exchanges.map(\.isReplay) == [true])
    grant.succeeds()
    #expect(grant.machine.health == .ok)
  }

  @Test func replaysThatAreAllLost_endInASignIn() {
    var grant = Grant(onUnknownOutcome: .replayLast)
    var replays = 0
    grant.wants()
    while grant.machine.exchange != nil, replays < 100 {
      let effects = grant.fails(Self.lost, jitter: 1)
      #expect(effects.exchanges.isEmpty)
      grant.advance(1000)
      replays += grant.wants().effects.exchanges.count
    }
    #expect(replays == 2)
    #expect(grant.effects.tellsPerson == ["outcomeUnknown"] && !grant.machine.mayRecover(at: grant.now))
    #expect(grant.wants(.forced).effects.refusals.values.first == Self.doubt)
  }

  /// It is asked again by itself, since a program may wait for the token.
  @Test func lastReplayIsPlanned_whereTheTokenHasExpired() {
    var grant = Grant.fresh(onUnknownOutcome: .replayLast)
    var token = grant.token()
    token.renewAt = token.refreshAt
    _ = grant.noted(grant.machine.adopt(token, for: .standard))
    grant.advance(301)
    grant.wants()
    grant.fails(Self.lost, jitter: 0)
    #expect(grant.machine.doubtShows(at: grant.now) == grant.now + .seconds(15))
    grant.advance(15)
    #expect(grant.renews().exchanges.map(\.isReplay) == [true])
  }

  @Test func lastReplayOfATokenInUse_comesWithoutACaller() {
    var grant = Grant.fresh(onUnknownOutcome: .replayLast)
    var token = grant.token()
    token.renewAt = token.refreshAt
    _ = grant.noted(grant.machine.adopt(token, for: .standard))
    grant.advance(260)
    grant.wants()
    grant.fails(Self.lost)
    #expect(grant.machine.nextRenewal(at: grant.now) == nil)
    #expect(grant.machine.doubtShows(at: grant.now) == token.expiresAt)
    grant.advance(40)
    #expect(grant.renews().exchanges.map(\.isReplay) == [true])
  }

  @Test func graceThatHasPassed_isFollowedByTheLastReplay() {
    var grant = Grant.fresh(reuse: .grace, grace: 60, onUnknownOutcome: .replayLast)
    grant.advance(260)
    grant.wants()
    grant.advance(30)
    #expect(grant.fails(Self.lost, jitter: 0).exchanges.isEmpty)
    grant.advance(10)
    #expect(grant.wants().effects.exchanges.isEmpty, "the answer was lost ten seconds ago")
    grant.advance(5)
    #expect(grant.wants().effects.exchanges.map(\.isReplay) == [true])
  }

  /// A provider that forgave no second use in its grace may never have seen the first one.
  @Test func lostReplayWithinTheGrace_isFollowedByTheLastReplay() {
    var grant = Grant(reuse: .grace, grace: 60, onUnknownOutcome: .replayLast)
    let (id, _) = grant.wants()
    #expect(grant.fails(Self.lost).exchanges.map(\.isReplay) == [true])
    let effects = grant.fails(Self.lost, jitter: 0)
    #expect(effects.refusals == [id: .noAnswer(.inDoubt(retryAfter: .seconds(30)))] && effects.exchanges.isEmpty)
    grant.advance(30)
    #expect(grant.wants().effects.exchanges.map(\.isReplay) == [true])
  }

  /// The answer to a request that was sent a second ago may have been lost just now; that of an hour ago was lost then.
  @Test(
    arguments: [(1, false, 15), (3600, false, 0), (nil, false, 15), (1, true, 30)] as [(Int64?, Bool, Int64)])
  func lastReplayAfterARestart_waitsAsLong(ago: Int64?, wasReplay: Bool, seconds: Int64) {
    var grant = Grant(onUnknownOutcome: .replayLast)
    let sentAt = ago.map { grant.now + .seconds(-$0) }
    let effects = grant.noted(
      grant.machine.recoveredWithoutAnswer(sentAt: sentAt, lostReplays: wasReplay ? 1 : 0, at: grant.now, jitter: 0))
    #expect(effects.tellsPerson.isEmpty)
    if seconds > 0 {
      #expect(grant.wants().effects.refusals.values.first == .noAnswer(.inDoubt(retryAfter: .seconds(seconds))))
      grant.advance(seconds)
    }
    #expect(grant.wants().effects.exchanges.map(\.isReplay) == [true])
  }

  // MARK: servers that fail

  @Test func gatewayError_isAnUnknownOutcomeWhereTokensRotate() {
    for status in ["status502", "status504"] {
      let failure = ExchangeFailure.transient(status, retryAfter: nil)
      #expect(Grant().machine.grant.judged(failure) == .unknownOutcome(status))
      #expect(Grant(reuse: .none).machine.grant.judged(failure) == failure)
    }
    let unavailable = ExchangeFailure.transient("status503", retryAfter: nil)
    #expect(Grant().machine.grant.judged(unavailable) == unavailable)
  }

  @Test func internalError_isTransientOnceAndThenAnUnknownOutcome() {
    let failure = ExchangeFailure.transient("status500", retryAfter: nil)
    var grant = Grant(onUnknownOutcome: .replayLast)
    grant.wants()
    #expect(grant.machine.grant.judged(failure) == failure)
    grant.fails(failure)
    #expect(grant.machine.nextAttemptAt! >= grant.now + .seconds(5) && grant.machine.health == .ok)
    grant.now = grant.machine.nextAttemptAt!
    grant.wants()
    #expect(grant.machine.grant.judged(failure) == .unknownOutcome("status500"))
    #expect(grant.fails(.unknownOutcome("status500")).exchanges.isEmpty, "the server has trouble: not at once")
    #expect(grant.machine.nextAttemptAt == grant.now + .seconds(30))
    grant.advance(30)
    #expect(grant.wants().effects.exchanges.map(\.isReplay) == [true])
    grant.succeeds()
    grant.advance(300)
    grant.wants()
    #expect(grant.machine.grant.judged(failure) == failure, "a success lies between")
  }

  // MARK: after a restart

  @Test(
    arguments: [
      // rule, seconds since the sending (nil: another boot), was it a replay, may it be replayed
      (ProviderConfiguration.RefreshRule.Reuse.strict, false, 1, false, false),
      (.strict, true, 1, false, true), (.strict, true, nil, false, true), (.strict, true, 1, true, false),
      (.grace, false, 29, false, true), (.grace, false, 30, false, false), (.grace, false, nil, false, false),
      (.grace, false, 1, true, false),
    ] as [(ProviderConfiguration.RefreshRule.Reuse, Bool, Int64?, Bool, Bool)])
  func storedIntentWithoutAnAnswer_isReplayedByTheRule(
    reuse: ProviderConfiguration.RefreshRule.Reuse, replayOnce: Bool, ago: Int64?, wasReplay: Bool, replays: Bool
  ) {
    var grant = Grant(reuse: reuse, grace: 60, onUnknownOutcome: replayOnce ? .replayOnce : .reauthenticate)
    let sentAt = ago.map { grant.now + .seconds(-$0) }
    let effects = grant.noted(
      grant.machine.recoveredWithoutAnswer(sentAt: sentAt, lostReplays: wasReplay ? 1 : 0, at: grant.now, jitter: 0))
    #expect(grant.machine.health == .unknown && effects.tellsPerson == (replays ? [] : ["outcomeUnknown"]))
    let asked = grant.wants().effects
    #expect(asked.exchanges.map(\.isReplay) == (replays ? [true] : []))
    if !replays { #expect(asked.refusals.values.first == Self.doubt) }
  }

  @Test func storedIntentWithoutRotation_isSentAgain() {
    var grant = Grant(reuse: .none)
    #expect(grant.machine.recoveredWithoutAnswer(sentAt: grant.now, lostReplays: 0, at: grant.now, jitter: 0).isEmpty)
    #expect(grant.wants().effects.exchanges.map(\.isReplay) == [false])
  }

  @Test func storedUnknownOutcomeWithoutAnIntent_isNotReplayed() {
    for onUnknownOutcome in [ProviderConfiguration.RefreshRule.OnUnknownOutcome.reauthenticate, .replayOnce] {
      var grant = Grant(.unknown, reuse: .grace, grace: 600, onUnknownOutcome: onUnknownOutcome)
      #expect(grant.wants().effects.refusals.values.first == Self.doubt)
    }
  }

  @Test func stagedResponse_isResumedAndJoinedByCallers() {
    var grant = Grant()
    let effects = grant.noted(grant.machine.recoveredWithAnswer(for: .standard, at: grant.now))
    #expect(effects.exchanges.map(\.isReplay) == [false])
    let ids = [grant.wants().id, grant.wants().id]
    #expect(grant.effects.exchanges.count == 1)
    #expect(grant.succeeds().answers == [ids[0]: 1, ids[1]: 1])
  }
}
