import AgentCore
import AgentModel
import StateWalks
import Testing

/// I5: a refusal by the provider stands for later callers too; the provider is not asked again for each.
@Suite struct StandingRefusalTests {
  /// Any requests of callers cost the provider at most one request in 120 s.
  @Test(arguments: [ExchangeFailure.reauthenticate(reason: "refused"), .locked])
  func refusedGrant_costsTheProviderOneRequestInTwoMinutes(failure: ExchangeFailure) {
    var grant = Grant()
    var requests: [BootInstant] = []
    for second in 0..<1000 {
      for demand in [TokenMachine.Demand.usable(minimumLifetime: .zero), .forced, .replacing(fingerprint: "fp")] {
        if !grant.wants(demand).effects.exchanges.isEmpty { requests.append(grant.now) }
        if grant.machine.exchange != nil { grant.fails(failure) }
      }
      grant.advance(1)
      _ = second
    }
    #expect(requests.count == 9)
    #expect(zip(requests, requests.dropFirst()).allSatisfy { $1 - $0 >= .seconds(120) })
    #expect(grant.effects.tellsPerson.count <= 1, "a person is told once")
  }

  /// The provider refused by mistake: the account is marked, and works again once the provider accepts its token.
  @Test func forcedRefreshAfterAMistakenRefusal_restoresTheAccount() {
    var grant = Grant()
    grant.wants()
    grant.fails(.reauthenticate(reason: "refused"))
    grant.advance(120)
    #expect(grant.wants().effects.exchanges.isEmpty, "an ordinary request makes no exchange")
    #expect(grant.wants(.forced).effects.exchanges.count == 1)
    let effects = grant.succeeds()
    #expect(effects.states == [.active] && grant.machine.health == .ok)
    #expect(grant.wants().effects.answers.count == 1)
  }

  /// An administrator may have fixed the account, and the agent is not notified.
  @Test(arguments: [ExchangeFailure.locked, .misconfigured("invalid_client")])
  func lockedOrMisconfiguredAccount_isRetriedAfterFifteenMinutes(failure: ExchangeFailure) {
    var grant = Grant()
    grant.wants()
    grant.fails(failure)
    grant.advance(899)
    #expect(grant.wants().effects.exchanges.isEmpty)
    grant.advance(1)
    #expect(grant.wants().effects.exchanges.count == 1)
    grant.succeeds()
    #expect(grant.machine.health == .ok)
  }

  /// A refusal that was stored before a restart is not retried at once.
  @Test func refusalBeforeARestart_isNotRetriedSooner() {
    let start = BootInstant(milliseconds: 5000)
    var machine = TokenMachine(
      memory: TokenMemory(health: .reauthenticate(reason: "refused")), rule: Grant.rule(.strict), at: start)
    #expect(machine.wanted(by: 1, key: .standard, demand: .forced, at: start).exchanges.isEmpty)
    #expect(machine.wanted(by: 2, key: .standard, demand: .forced, at: start + .seconds(120)).exchanges.count == 1)
  }

  @Test(arguments: ["outcomeUnknown", "noRefreshToken", "subjectChanged"])
  func permanentRefusal_isNeverRetried(reason: String) {
    var grant = Grant()
    grant.wants()
    grant.fails(.reauthenticate(reason: reason))
    grant.advance(100_000)
    #expect(grant.wants(.forced).effects.exchanges.isEmpty)
  }

  /// I4 ranks higher: a refused replay says nothing about the first request.
  @Test func unknownOutcome_survivesALaterRefusal() {
    var grant = Grant(reuse: .grace, grace: 600)
    grant.wants()
    grant.fails(.unknownOutcome("timedOut"))
    grant.fails(.locked)
    grant.advance(100_000)
    #expect(grant.machine.health == .locked)
    #expect(grant.wants(.forced).effects.exchanges.isEmpty)
    #expect(grant.wants().effects.exchanges.isEmpty)
  }

  @Test func interactionOfOneAudience_survivesARestart() {
    var grant = Grant.fresh()
    grant.wants(.forced, .mail)
    grant.fails(.interaction(claims: "{}"))
    #expect(grant.machine.memory.interactions == [.mail: .some("{}")])
    var machine = TokenMachine(memory: grant.machine.memory, rule: Grant.rule(.strict), at: grant.now)
    #expect(machine.hasInteraction)
    #expect(
      machine.wanted(by: 1, key: .mail, demand: .usable(minimumLifetime: .zero), at: grant.now)
        == [.refuse(1, .interaction(claims: "{}"))])
    #expect(machine.wanted(by: 2, key: .files, demand: .forced, at: grant.now).exchanges.count == 1)
  }

  /// The person may have consented elsewhere: a forced refresh finds out.
  @Test func interactionRequired_isRetriedWhenForced() {
    var grant = Grant.fresh()
    grant.wants(.forced, .mail)
    grant.fails(.interaction(claims: nil))
    grant.advance(119)
    #expect(grant.wants(.forced, .mail).effects.exchanges.isEmpty)
    grant.advance(1)
    #expect(grant.wants(.forced, .mail).effects.exchanges.count == 1)
    grant.succeeds()
    #expect(!grant.machine.hasInteraction)
  }

  @Test func retryAfter_survivesARestart() throws {
    var grant = Grant()
    grant.wants()
    grant.fails(.transient("throttled", retryAfter: .seconds(3600)))
    let patience = try #require(grant.machine.memory.patience)
    #expect(patience.callersUntil == grant.now + .seconds(3600) && patience.failures == 1)
    var machine = TokenMachine(memory: grant.machine.memory, rule: Grant.rule(.strict), at: grant.now)
    let refused = machine.wanted(by: 1, key: .standard, demand: .forced, at: grant.now + .seconds(3599))
    #expect(refused == [.refuse(1, .unavailable(retryAfter: .seconds(1)))])
    #expect(machine.wanted(by: 2, key: .standard, demand: .forced, at: patience.callersUntil).exchanges.count == 1)
  }

  /// A network or a disk may be back after a restart.
  @Test func backoffWithoutRetryAfter_isForgottenAtARestart() {
    var grant = Grant()
    grant.wants()
    grant.fails(.offline(.refused), jitter: 0.9)
    #expect(grant.machine.memory.patience == nil)
  }

  /// Three unexplained refusals, also with restarts between them.
  @Test func unexplainedRefusals_areCountedOverRestarts() {
    var memory = TokenMemory(health: .ok)
    var now = BootInstant(milliseconds: 1000)
    for expected in [TokenMachine.Health.ok, .ok, .reauthenticate(reason: "unexplainedRefusal")] {
      var machine = TokenMachine(memory: memory, rule: Grant.rule(.strict), at: now)
      _ = machine.wanted(by: 1, key: .standard, demand: .forced, at: now)
      _ = machine.exchangeFailed(attempt: 1, .unexplained(status: 400), at: now, jitter: 0.5)
      #expect(machine.health == expected)
      memory = machine.memory
      now = now + .seconds(400)
    }
  }
}

/// One caller's unusual request must not end the account for others; a dead grant must still be found.
@Suite struct UnexplainedRefusalTests {
  @Test func unexplainedRefusalOfOneAudience_leavesTheAccountUsable() {
    var grant = Grant.fresh()
    for _ in 0..<2 {
      grant.wants(.forced, .mail)
      let effects = grant.fails(.unexplained(status: 400))
      #expect(effects.refusals.count == 1 && effects.exchanges.isEmpty)
      #expect(grant.wants(.forced, .mail).effects.refusals.count == 1, "not at once again")
      grant.advance(20)
    }
    #expect(grant.machine.health == .ok)
    #expect(grant.wants(.forced).effects.exchanges.count == 1, "the others go on")
    grant.succeeds()
    // After the third, the machine checks the grant itself.
    grant.wants(.forced, .mail)
    #expect(grant.fails(.unexplained(status: 400)).exchanges.map(\.key) == [.standard])
    grant.succeeds()
    #expect(grant.machine.health == .ok)
  }

  @Test func unexplainedRefusalsWithADeadGrant_requireReauthentication() {
    var grant = Grant.fresh()
    for _ in 0..<30 where grant.machine.health == .ok {
      grant.wants(.forced, .mail)
      while grant.machine.exchange != nil { grant.fails(.unexplained(status: 400)) }
      grant.advance(60)
    }
    #expect(grant.machine.health == .reauthenticate(reason: "unexplainedRefusal"))
  }

  /// Neither from memory nor as `staleOk`, also after a restart (docs/tokens.md, Health and freshness).
  @Test func lockedAccount_isServedNoTokenUntilAForcedRefreshSucceeds() {
    var grant = Grant.fresh()
    let (forced, _) = grant.wants(.forced)
    let joined = grant.wants().id
    #expect(joined != forced)
    #expect(grant.fails(.locked).refusals[forced] == .locked)
    #expect(grant.machine.standardToken == nil && grant.machine.liveSerials.isEmpty, "it is wiped")
    #expect(grant.wants().effects.refusals.values.map { $0 } == [.locked])
    grant.advance(120)
    let (again, _) = grant.wants(.forced)
    let waits = grant.wants().id
    let effects = grant.fails(.locked)
    #expect(effects.refusals == [again: .locked, waits: .locked])
    grant.advance(120)
    grant.wants(.forced)
    grant.succeeds()
    #expect(grant.machine.standardToken != nil && grant.wants().effects.answers.count == 1)
  }

  /// A grant that the provider refused serves no token; a lost answer and a lack of a refresh token say nothing of it.
  @Test(arguments: [
    (ExchangeFailure.reauthenticate(reason: "refused"), false), (.reauthenticate(reason: "subjectChanged"), false),
    (.locked, false), (.reauthenticate(reason: TokenMachine.noRefreshToken), true), (.unknownOutcome("reset"), true),
    (.misconfigured("invalid_client"), true), (.offline(.refused), true),
  ])
  func failedRefresh_leavesTheTokenOnlyWhereTheProviderStandsByIt(failure: ExchangeFailure, serves: Bool) {
    var grant = Grant.fresh()
    let fingerprint = grant.machine.standardToken!.fingerprint
    grant.wants(.forced)
    let effects = grant.fails(failure)
    #expect(effects.contains(.withdrawTokens) == !serves)
    #expect(grant.machine.servesTokens == serves && grant.machine.liveSerials.isEmpty == !serves)
    #expect(grant.wants(.usable(minimumLifetime: .zero)).effects.answers.isEmpty == !serves)
    #expect(grant.machine.grant.audiences.key(ofFingerprint: fingerprint) == .standard, "`token.reject` knows it")
  }

  /// The replay decides about every audience: a caller for another one is not told to sign in before.
  @Test func callerForAnotherAudience_waitsForTheReplay() {
    var grant = Grant(reuse: .strict, onUnknownOutcome: .replayOnce)
    grant.wants()
    grant.fails(.unknownOutcome("reset"))
    let (mail, effects) = grant.wants(.usable(minimumLifetime: .zero), .mail)
    #expect(effects.isEmpty)
    #expect(grant.succeeds().exchanges.map(\.key) == [.mail])
    #expect(grant.succeeds().answers.keys.contains(mail))
  }

  @Test func unexplainedRefusal_isCheckedAgainByTokenGetAfterTwoMinutes() {
    var grant = Grant()
    for _ in 0..<3 {
      grant.wants()
      grant.fails(.unexplained(status: 403))
      grant.advance(600)
    }
    #expect(grant.machine.health == .reauthenticate(reason: "unexplainedRefusal"))
    #expect(grant.wants().effects.exchanges.count == 1)
    grant.fails(.unexplained(status: 403))
    grant.advance(119)
    #expect(grant.wants().effects.exchanges.isEmpty, "once in two minutes, for all callers")
    grant.advance(1)
    #expect(grant.wants().effects.exchanges.count == 1)
    grant.succeeds()
    #expect(grant.machine.health == .ok)
  }

  @Test func refusalByAPage_hasLongerPauses() {
    var grant = Grant()
    var pauses: [Milliseconds] = []
    for _ in 0..<3 {
      grant.wants()
      grant.fails(.unexplained(status: 403, isPage: true), jitter: 0)
      guard grant.machine.health == .ok else { break }
      pauses.append(grant.machine.nextAttemptAt! - grant.now)
      grant.now = grant.machine.nextAttemptAt!
    }
    #expect(pauses == [.seconds(60), .seconds(90)])
    #expect(grant.machine.health == .reauthenticate(reason: "unexplainedRefusal"))
  }
}
