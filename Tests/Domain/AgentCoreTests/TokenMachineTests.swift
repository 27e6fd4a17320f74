import AgentCore
import AgentModel
import StateWalks
import Testing

/// The rules of docs/tokens.md, one by one.
@Suite struct TokenMachineTests {
  // MARK: freshness

  @Test func freshToken_isAnsweredFromTheCache() {
    var grant = Grant.fresh()
    let (id, effects) = grant.wants()
    #expect(effects == [.answer(id, serial: 1, .cache)])
    #expect(grant.machine.freshness(at: grant.now) == .fresh)
  }

  @Test func staleToken_isAnsweredWhileOneExchangeBegins() {
    var grant = Grant.fresh()
    grant.advance(255)  // 300 s less its lead of 45 s
    #expect(grant.machine.freshness(at: grant.now) == .stale)
    let first = grant.wants(.usable(minimumLifetime: .seconds(30)))
    #expect(first.effects.first == .answer(first.id, serial: 1, .cache) && first.effects.exchanges.count == 1)
    let second = grant.wants(.usable(minimumLifetime: .seconds(30)))
    #expect(second.effects == [.answer(second.id, serial: 1, .cache)])
    #expect(grant.succeeds().answers.isEmpty)  // no caller waited
    let third = grant.wants()
    #expect(third.effects == [.answer(third.id, serial: 2, .cache)])
  }

  @Test func tokenBelowTheMinimumLifetime_isRefreshed() {
    var grant = Grant.fresh()
    grant.advance(245)  // still fresh, but not for the 60 s that callers ask by themselves
    let (id, effects) = grant.wants()
    #expect(effects.answers.isEmpty && effects.exchanges.count == 1)
    #expect(grant.succeeds().answers == [id: 2])
  }

  @Test func expiredToken_isNeverAnswered() {
    var grant = Grant.fresh()
    grant.advance(300)
    #expect(grant.machine.freshness(at: grant.now) == .expired)
    let (id, effects) = grant.wants(.usable(minimumLifetime: .zero))
    #expect(effects.answers.isEmpty && effects.exchanges.count == 1)
    #expect(grant.fails(.offline(.refused)).refusals == [id: .offline(.refused, retryAfter: Milliseconds(833))])
  }

  @Test func accountWithoutAToken_hasNoFreshness() {
    var grant = Grant()
    #expect(grant.machine.freshness(at: grant.now) == .none)
    #expect(grant.wants().effects.exchanges.count == 1)
  }

  @Test func minimumLifetimeAboveTheTokensLifetime_makesNoRefreshLoop() {
    var grant = Grant.fresh(lifetime: 60)
    for minimum in [60, 61, 3600] as [Int64] {
      let (id, effects) = grant.wants(.usable(minimumLifetime: .seconds(minimum)))
      #expect(effects == [.answer(id, serial: 1, .cache)])
    }
    grant.advance(45)  // its lead has begun: the long minimum counts as "not stale"
    #expect(grant.wants(.usable(minimumLifetime: .seconds(3600))).effects.exchanges.count == 1)
    #expect(grant.succeeds(lifetime: 60).answers.count == 1)
  }

  // MARK: one exchange

  @Test func thousandCallersAtOnce_makeOneExchange() {
    var grant = Grant()
    let ids = (0..<1000).map { _ in grant.wants().id }
    #expect(grant.effects.exchanges.count == 1)
    let effects = grant.succeeds()
    #expect(effects.answers == Dictionary(uniqueKeysWithValues: ids.map { ($0, 1) }))
    #expect(effects.allSatisfy { if case .answer(_, _, let source) = $0 { source == .refreshed } else { true } })
  }

  @Test func forcedCallers_shareOneExchange() {
    var grant = Grant.fresh()
    let ids = (0..<5).map { _ in grant.wants(.forced).id }
    #expect(grant.effects.exchanges.count == 1 && grant.effects.answers.isEmpty)
    #expect(grant.succeeds().answers.keys.sorted() == ids)
    #expect(grant.wants(.forced).effects.exchanges.count == 1)  // of another generation
  }

  @Test func forcedExchange_doesNotDelayCallersWithAFreshToken() {
    var grant = Grant.fresh()
    grant.wants(.forced)
    let (id, effects) = grant.wants()
    #expect(effects == [.answer(id, serial: 1, .cache)])
  }

  @Test func audiences_takeTurnsAtOneExchange() {
    var grant = Grant()
    let work = grant.wants().id
    let mail = grant.wants(.forced, .mail).id
    let files = grant.wants(.forced, .files).id
    #expect(grant.effects.exchanges.map(\.key) == [.standard])  // I1
    let first = grant.succeeds()
    #expect(first.answers == [work: 1] && first.exchanges.map(\.key) == [.mail])
    let second = grant.fails(.transient("status503", retryAfter: nil))
    #expect(Set(second.refusals.keys) == [mail, files] && second.exchanges.isEmpty)
  }

  @Test func answerToAnOldAttempt_changesNothing() {
    var grant = Grant()
    grant.wants()
    let old = grant.machine.exchange!.number
    grant.fails(.offline(.refused))
    grant.advance(1)
    grant.wants()
    #expect(grant.succeeds(of: old).isEmpty && grant.fails(.locked, of: old).isEmpty)  // I3
    #expect(grant.machine.exchange != nil && grant.machine.health == .ok)
    #expect(grant.noted(grant.machine.exchangeBroughtNoToken(attempt: old, at: grant.now)).isEmpty)
    #expect(grant.succeeds().answers.count == 1)
  }

  @Test func callerThatLeaves_cancelsNoExchange() {
    var grant = Grant()
    let gone = grant.wants().id
    let stays = grant.wants().id
    grant.machine.waiterLeft(gone)
    #expect(grant.machine.exchange != nil)
    #expect(grant.succeeds().answers == [stays: 1])
    let (id, effects) = grant.wants()
    #expect(effects == [.answer(id, serial: 1, .cache)])
  }

  // MARK: rejected tokens

  @Test func rejectedOlderToken_isAnsweredWithTheCurrentOne() {
    var grant = Grant.fresh()
    grant.wants(.forced)
    grant.succeeds()
    let (id, effects) = grant.wants(.replacing(fingerprint: "fp1"))
    #expect(effects == [.answer(id, serial: 2, .cache)])
  }

  @Test func rejectedCurrentToken_makesOneExchange() {
    var grant = Grant.fresh()
    let first = grant.wants(.replacing(fingerprint: "fp1")).id
    let second = grant.wants(.replacing(fingerprint: "fp1")).id
    #expect(grant.effects.exchanges.count == 1)
    #expect(grant.succeeds().answers == [first: 2, second: 2])
  }

  @Test func newTokenRejectedWithinAMinute_requiresInteraction() {
    var grant = Grant.fresh()
    grant.wants(.replacing(fingerprint: "fp1"))
    grant.succeeds()
    grant.advance(59)
    let (id, effects) = grant.wants(.replacing(fingerprint: "fp2"))
    #expect(effects == [.refuse(id, .interaction(claims: nil))])
    // Other audiences, and callers that do not reject a token, are not affected.
    #expect(grant.wants(.forced, .mail).effects.exchanges.count == 1)
    grant.succeeds()
    grant.advance(1)
    #expect(grant.wants(.replacing(fingerprint: "fp2")).effects.exchanges.count == 1)
  }

  // MARK: failures

  @Test func failedEarlyRefresh_servesTheStillValidToken() {
    var grant = Grant.fresh()
    grant.advance(260)
    let waits = grant.wants().id  // 40 s left are too few for it
    #expect(grant.fails(.transient("status503", retryAfter: nil)).contains(.answer(waits, serial: 1, .staleOk)))
    for minimum in [10, 60] as [Int64] {
      let (id, effects) = grant.wants(.usable(minimumLifetime: .seconds(minimum)))
      #expect(effects == [.answer(id, serial: 1, .staleOk)])
    }
  }

  @Test func failedForcedRefresh_doesNotServeTheOldToken() {
    var grant = Grant.fresh()
    let (id, _) = grant.wants(.forced)
    #expect(
      grant.fails(.transient("status503", retryAfter: .seconds(7))).refusals == [
        id: .unavailable(retryAfter: .seconds(7))
      ])
    grant.advance(2)
    let (next, effects) = grant.wants(.forced)
    #expect(effects == [.refuse(next, .unavailable(retryAfter: .seconds(5)))])
    grant.advance(5)
    #expect(grant.wants(.forced).effects.exchanges.count == 1)
  }

  @Test func backoff_growsWithFailuresAndEndsWithASuccess() {
    var grant = Grant()
    var pauses: [Int64] = []
    for _ in 0..<12 {
      grant.wants()
      grant.fails(.offline(.refused), jitter: 0.999_999)
      pauses.append((grant.machine.nextAttemptAt! - grant.now).count)
      grant.now = grant.machine.nextAttemptAt!
    }
    let ceilings: [Int64] = [1, 4, 16, 64, 256, 600, 600, 600, 600, 600, 600, 600]
    #expect(zip(pauses, ceilings).allSatisfy { $0 <= $1 * 1000 && $0 >= $1 * 999 })
    #expect(grant.machine.failures == 12)
    grant.wants()
    grant.succeeds()
    #expect(grant.machine.failures == 0 && grant.machine.nextAttemptAt == nil)
  }

  @Test func reconnecting_endsThePauseOfAnOfflineGrantOnly() {
    var grant = Grant()
    grant.wants()
    grant.fails(.offline(.unreachable))
    #expect(grant.machine.isOffline)
    grant.machine.reconnected()
    #expect(grant.machine.isOffline, "until a caller asks")
    #expect(grant.wants().effects.exchanges.count == 1)
    grant.fails(.transient("status503", retryAfter: .seconds(30)))
    grant.machine.reconnected()
    #expect(grant.wants().effects.exchanges.isEmpty)
  }

  @Test(arguments: [
    (
      ExchangeFailure.reauthenticate(reason: "refused"), TokenMachine.Health.reauthenticate(reason: "refused"),
      TokenMachine.Refusal.reauthenticate(reason: "refused"), AccountState.reauthenticationRequired, ["refused"]
    ),
    (.locked, .locked, .locked, .locked, []),
    (.misconfigured("invalid_client"), .misconfigured("invalid_client"), .misconfigured("invalid_client"), .active, []),
  ])
  func permanentFailure_isPersistedAndReportedUntilASignIn(
    failure: ExchangeFailure, health: TokenMachine.Health, refusal: TokenMachine.Refusal, state: AccountState,
    told: [String]
  ) {
    var grant = Grant()
    let ids = [grant.wants().id, grant.wants(.forced, .mail).id]
    let effects = grant.fails(failure)
    #expect(grant.machine.health == health && effects.contains(.persistHealth))
    #expect(effects.states == (state == .active ? [] : [state]))
    #expect(effects.refusals == [ids[0]: refusal, ids[1]: refusal] && effects.tellsPerson == told)
    if case .misconfigured = failure { grant.advance(4) } else { grant.advance(119) }
    let (id, later) = grant.wants(.forced)
    #expect(later == [.refuse(id, refusal)])
    // A sign-in ends it.
    _ = grant.noted(grant.machine.adopt(grant.token(), for: .standard))
    #expect(grant.machine.health == .ok && grant.wants().effects.answers.count == 1)
  }

  @Test func reconfiguredProvider_isTriedAgain() {
    var grant = Grant()
    grant.wants()
    grant.fails(.misconfigured("invalid_client"))
    #expect(grant.noted(grant.machine.reconfigured(rule: Grant.rule(.strict))).contains(.persistHealth))
    #expect(grant.wants().effects.exchanges.count == 1)
    grant.fails(.locked)
    #expect(grant.machine.reconfigured(rule: Grant.rule(.strict)).isEmpty && grant.machine.health == .locked)
  }

  @Test(arguments: ["invalid_scope", "invalid_target"])
  func invalidScopeOfOneCaller_leavesTheDefaultTokenUsable(error: String) {
    var grant = Grant.fresh()
    let odd = TokenKey(scopes: ScopeSet(["no-such-scope"]))
    let (id, _) = grant.wants(.usable(minimumLifetime: .zero), odd)
    let effects = grant.fails(.misconfigured(error))
    #expect(effects.refusals == [id: .misconfigured(error)] && grant.machine.health == .ok)
    #expect(!effects.contains(.persistHealth))
    // It is not retried in a loop, and other callers notice nothing.
    #expect(grant.wants(.forced, odd).effects.refusals.values.first == .misconfigured(error))
    #expect(grant.wants(.forced).effects.exchanges.count == 1)
    grant.succeeds()
    _ = grant.machine.reconfigured(rule: Grant.rule(.strict))
    #expect(grant.wants(.forced, odd).effects.exchanges.count == 1)
    // For the default token it is the configuration's fault.
    var other = Grant()
    other.wants()
    other.fails(.misconfigured(error))
    #expect(other.machine.health == .misconfigured(error))
  }

  @Test func interactionRequired_concernsOneAudienceOnly() {
    var grant = Grant.fresh()
    let mail = grant.wants(.forced, .mail).id
    let effects = grant.fails(.interaction(claims: "{}"))
    #expect(effects.refusals == [mail: .interaction(claims: "{}")] && effects.tellsPerson.isEmpty)
    #expect(grant.machine.hasInteraction && grant.machine.health == .ok)
    #expect(grant.wants(.forced, .mail).effects.refusals.values.first == .interaction(claims: "{}"))
    #expect(grant.wants(.forced, .files).effects.exchanges.count == 1)
    grant.fails(.interaction(claims: nil))
    #expect(grant.wants(.forced, .files).effects.refusals.values.first == .interaction(claims: nil))
    #expect(grant.wants(.forced).effects.exchanges.count == 1)
    grant.succeeds()
    _ = grant.machine.adopt(grant.token(), for: .standard)
    #expect(!grant.machine.hasInteraction)
  }

  @Test func unexplainedRefusal_isTransientTwiceThenPermanent() {
    var grant = Grant()
    for _ in 0..<2 {
      let (id, _) = grant.wants()
      let effects = grant.fails(.unexplained(status: 400), jitter: 0)
      let pause = grant.machine.nextAttemptAt! - grant.now
      let callers = grant.machine.nextAttemptOfCallersAt! - grant.now
      #expect(effects.refusals == [id: .unavailable(retryAfter: callers)] && effects.tellsPerson.isEmpty)
      #expect(grant.machine.health == .ok && pause >= .seconds(1))
      grant.now = grant.machine.nextAttemptAt!
    }
    let (id, _) = grant.wants()
    let effects = grant.fails(.unexplained(status: 400))
    #expect(effects.refusals == [id: .reauthenticate(reason: "unexplainedRefusal")])
    #expect(effects.tellsPerson == ["unexplainedRefusal"])
  }

  @Test func success_resetsTheCountOfUnexplainedRefusals() {
    var grant = Grant()
    for _ in 0..<5 {
      grant.wants(.forced)
      grant.fails(.unexplained(status: 400))
      grant.now = grant.machine.nextAttemptAt!
      grant.wants(.forced)
      grant.succeeds()
    }
    #expect(grant.machine.health == .ok)
  }

  @Test func unexplainedRefusals_lengthenThePause() {
    var grant = Grant()
    grant.wants()
    grant.fails(.unexplained(status: 404), jitter: 0.999)
    let first = grant.machine.nextAttemptAt! - grant.now
    grant.now = grant.machine.nextAttemptAt!
    grant.wants()
    grant.fails(.unexplained(status: 404), jitter: 0.999)
    #expect(grant.machine.nextAttemptAt! - grant.now > first)
  }

  // MARK: tokens that can't be used

  @Test func responseWithoutAToken_isRetriedOnceAtOnce() {
    var grant = Grant()
    let (id, _) = grant.wants()
    let first = grant.noted(grant.machine.exchangeBroughtNoToken(attempt: 1, at: grant.now))
    #expect(first.exchanges.count == 1 && first.refusals.isEmpty)
    #expect(grant.succeeds().answers == [id: 1])
  }

  /// The tokens of this provider are expired on arrival; the machine must not ask in a loop.
  @Test func providerOfUnusableTokens_isNotAskedInALoop() {
    var grant = Grant()
    let (id, _) = grant.wants()
    var exchanges = 1
    var pauses: [Int64] = []
    for round in 0..<6 {
      while let attempt = grant.machine.exchange {
        let effects = grant.noted(grant.machine.exchangeBroughtNoToken(attempt: attempt.number, at: grant.now))
        exchanges += effects.exchanges.count
        if round == 0, effects.exchanges.isEmpty {
          #expect(effects.refusals == [id: .unavailable(retryAfter: .seconds(1))])
        }
        #expect(exchanges < 20)
        if exchanges >= 20 { return }
      }
      pauses.append((grant.machine.nextAttemptAt! - grant.now).count)
      grant.now = grant.machine.nextAttemptAt!
      exchanges += grant.wants().effects.exchanges.count
    }
    #expect(exchanges == 8 && pauses == [1000, 4000, 16_000, 64_000, 256_000, 600_000])
  }

  /// The provider gives such answers until its configuration changes, so the next caller causes no exchange.
  @Test func bearerTokenWhereBoundOnesAreServed_isRefusedUntilTheConfigurationChanges() {
    var grant = Grant()
    let (id, _) = grant.wants()
    let effects = grant.noted(grant.machine.exchangeBroughtUnboundToken(attempt: 1, at: grant.now))
    #expect(effects.refusals == [id: .misconfigured("notBound")] && effects.exchanges.isEmpty)
    let (later, second) = grant.wants()
    #expect(second.refusals == [later: .misconfigured("notBound")] && second.exchanges.isEmpty)
    #expect(grant.noted(grant.machine.exchangeBroughtUnboundToken(attempt: 1, at: grant.now)).isEmpty)
    _ = grant.noted(grant.machine.reconfigured(rule: ProviderConfiguration.RefreshRule()))
    #expect(grant.wants().effects.exchanges.count == 1)
  }

  // MARK: the end

  @Test func signedOutAccount_answersNoToken() {
    var grant = Grant.fresh()
    let waits = grant.wants(.forced).id
    let mail = grant.wants(.forced, .mail).id
    let effects = grant.noted(grant.machine.signedOut())
    #expect(effects.refusals == [waits: .signedOut, mail: .signedOut] && effects.contains(.persistHealth))
    #expect(grant.machine.liveSerials.isEmpty && grant.machine.exchange == nil)
    #expect(grant.succeeds(of: 1).isEmpty && grant.machine.health == .signedOut)
    for demand in [Grant.Machine.Demand.usable(minimumLifetime: .zero), .forced, .replacing(fingerprint: "fp1")] {
      let (id, refused) = grant.wants(demand)
      #expect(refused == [.refuse(id, .signedOut)])
    }
  }

  @Test func expiredTokensOfOtherResources_areForgotten() {
    var grant = Grant()
    for number in 0..<100 {
      grant.wants(.forced, TokenKey(resource: "https://r\(number).example"))
      grant.succeeds(lifetime: 60)
      grant.advance(30)
    }
    #expect(grant.machine.liveSerials.count <= 3)
  }

  /// The waiters get the newest token, also if it lives shortly.
  @Test func newestToken_isKeptWhenTheCacheIsFull() {
    var grant = Grant.fresh()
    for number in 0..<100 {
      let key = TokenKey(resource: "https://r\(number).example")
      let (id, _) = grant.wants(.forced, key)
      let serial = grant.succeeds(lifetime: Int64(3600 - number)).answers[id]
      #expect(serial.map { grant.machine.liveSerials.contains($0) } == true)
    }
    #expect(grant.machine.liveSerials.count <= 65 && grant.machine.standardToken != nil)
  }

  @Test func tokensOfDifferentScopes_areCachedSeparately() {
    var grant = Grant.fresh()
    let fewer = TokenKey(scopes: ScopeSet(["read"]))
    let (id, _) = grant.wants(.usable(minimumLifetime: .zero), fewer)
    #expect(grant.succeeds().answers == [id: 2])
    // A token with fewer scopes never replaces the default one.
    #expect(grant.machine.standardToken?.serial == 1 && grant.machine.token(fewer)?.serial == 2)
    #expect(grant.wants().effects.answers.values.first == 1)
    #expect(grant.wants(.usable(minimumLifetime: .zero), fewer).effects.answers.values.first == 2)
  }
}
