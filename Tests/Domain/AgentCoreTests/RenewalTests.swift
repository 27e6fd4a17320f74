import AgentCore
import AgentModel
import StateWalks
import Testing

/// Tokens in use are renewed before a caller waits for them.
@Suite struct RenewalTests {
  /// A token of five minutes, stale after 255 s, renewed at 260.
  private func grant(_ key: TokenKey = .standard, lifetime: Int64 = 300) -> Grant {
    var grant = Grant()
    var token = grant.token(lifetime: lifetime)
    token.renewAt = token.refreshAt + .seconds(5)
    _ = grant.noted(grant.machine.adopt(token, for: key))
    grant.effects = []
    return grant
  }

  @Test func usedToken_isRenewedBeforeItExpires() {
    var grant = grant()
    grant.wants()
    #expect(grant.machine.nextRenewal(at: grant.now) == grant.now + .seconds(260))
    grant.advance(259)
    #expect(grant.renews().isEmpty)
    grant.advance(1)
    #expect(grant.renews().exchanges.map(\.key) == [.standard])
    #expect(grant.machine.nextRenewal(at: grant.now) == nil, "one is in flight (I1)")
    #expect(grant.renews().isEmpty)
  }

  @Test func unusedToken_isNotRenewed() {
    var grant = grant(lifetime: 3600)
    grant.wants()
    grant.advance(3400)
    #expect(grant.renews().isEmpty, "the last use was almost an hour ago")
    #expect(grant.machine.nextRenewal(at: grant.now) == nil, "and no renewal is planned")
    var used = self.grant(lifetime: 3600)
    used.advance(1700)
    used.machine.used(.standard, at: used.now)
    used.advance(1700)
    #expect(used.renews().exchanges.count == 1)
  }

  @Test func tokenUnusedSinceSignIn_isNotRenewed() {
    var grant = grant()
    grant.advance(260)
    #expect(grant.renews().isEmpty)
  }

  @Test func audiencesInUse_areRenewedOneAfterAnother() {
    var grant = grant()
    for key in [TokenKey.mail, .files] {
      grant.wants(.forced, key)
      var token = grant.token()
      token.renewAt = token.refreshAt
      _ = grant.noted(
        grant.machine.exchangeSucceeded(attempt: grant.machine.exchange!.number, token: token, at: grant.now))
    }
    grant.wants()
    grant.advance(270)
    var renewed: [TokenKey] = []
    for _ in 0..<3 {
      let begun = grant.renews().exchanges
      #expect(begun.count == 1)
      renewed += begun.map(\.key)
      grant.succeeds()
    }
    #expect(Set(renewed) == [.standard, .mail, .files])
    #expect(grant.renews().isEmpty)
  }

  @Test func failedRenewal_isRetriedAfterItsPause() throws {
    var grant = grant()
    grant.wants()
    grant.advance(260)
    grant.renews()
    grant.fails(.transient("status503", retryAfter: .seconds(20)))
    #expect(grant.machine.nextRenewal(at: grant.now) == grant.now + .seconds(20))
    grant.advance(20)
    #expect(grant.renews().exchanges.count == 1)
  }

  /// Maintenance ends for all agents of a fleet in one moment.
  /// A caller is told the provider's own time.
  @Test func retryAfterThatNoCallerWaitsFor_isSpread() {
    var grant = grant()
    grant.wants()
    grant.advance(260)
    grant.renews()
    grant.fails(.transient("status503", retryAfter: .seconds(600)), jitter: 0.5)
    #expect(grant.machine.nextAttemptAt == grant.now + .seconds(750))
    grant.advance(40)
    #expect(grant.wants().effects.refusals.values.first == .unavailable(retryAfter: .seconds(560)))
    grant.advance(560)
    let (id, _) = grant.wants()
    let failure = ExchangeFailure.transient("status503", retryAfter: .seconds(600))
    #expect(grant.fails(failure, jitter: 0.5).refusals == [id: .unavailable(retryAfter: .seconds(600))])
  }

  @Test(arguments: [
    ExchangeFailure.reauthenticate(reason: "refused"), .locked, .misconfigured("invalid_client"),
    .interaction(claims: nil), .unknownOutcome("reset"),
  ])
  func renewalAfterAPermanentFailure_isNotRetried(failure: ExchangeFailure) {
    var grant = grant()
    grant.wants()
    grant.advance(260)
    grant.renews()
    grant.fails(failure)
    #expect(grant.machine.nextRenewal(at: grant.now) == nil)
    grant.advance(600)
    #expect(grant.renews().exchanges.isEmpty)
  }

  @Test func unknownOutcome_isShownWhenTheTokenExpires() {
    var grant = grant()
    grant.wants(.forced)
    grant.fails(.unknownOutcome("reset"))
    #expect(grant.machine.doubtShows(at: grant.now) == grant.now + .seconds(300))
    grant.advance(300)
    #expect(grant.machine.doubtShows(at: grant.now) == nil)
  }

  @Test func renewalTime_liesInTheFirstHalfOfTheStalePeriod() {
    let start = BootInstant(milliseconds: 1000)
    func moment(_ lifetime: Int64, _ jitter: Double) -> BootInstant? {
      let lead = LeadTime.of(lifetime: .seconds(lifetime))
      let end = start + .seconds(lifetime)
      return RenewalTime.of(issuedAt: start, refreshAt: end + (.zero - lead), expiresAt: end, jitter: jitter)
    }
    #expect(moment(300, 0) == start + .seconds(255))
    #expect(moment(300, 0.999)! < start + .milliseconds(277_500) && moment(300, 0.999)! > start + .seconds(277))
    #expect(moment(3600, 0) == start + .seconds(3300))
    // Tokens that live less than a minute are renewed, too, but none within 15 s.
    #expect(moment(60, 0) == start + .seconds(45) && moment(40, 0) == start + .seconds(25))
    #expect(moment(20, 0) == start + .seconds(15))
    #expect(moment(15, 0) == nil && moment(5, 0.5) == nil)
    // A token without a stale period is not renewed.
    #expect(RenewalTime.of(issuedAt: start, refreshAt: start, expiresAt: start, jitter: 0) == nil)
  }

  /// A replay is not sent when its grace ended while the exchange was queued.
  @Test func replayQueuedPastItsGrace_isNotSent() throws {
    var grant = Grant(reuse: .grace, grace: 60)
    grant.wants()
    let first = try #require(grant.machine.exchange)
    let leaves = grant.machine.sending(attempt: first.number, at: grant.now + .seconds(5))
    #expect(leaves)
    grant.advance(5)
    grant.fails(.unknownOutcome("reset"))
    let replay = try #require(grant.machine.exchange)
    #expect(replay.isReplay)
    // Half of the grace, counted from the first sending.
    let inTime = grant.machine.sending(attempt: replay.number, at: grant.now + .seconds(29))
    let tooLate = grant.machine.sending(attempt: replay.number, at: grant.now + .seconds(30))
    let another = grant.machine.sending(attempt: 99, at: grant.now)
    #expect(inTime && !tooLate && !another)
  }

  /// A response that waits to be stored ends the uncertainty: a later attempt is no replay.
  @Test func pendingResponse_endsTheUnknownOutcome() throws {
    var grant = Grant(reuse: .grace, grace: 60)
    grant.wants()
    grant.fails(.unknownOutcome("reset"))
    let replay = try #require(grant.machine.exchange)
    _ = grant.noted(grant.machine.answerIsHeld(attempt: replay.number))
    #expect(grant.machine.exchange?.isReplay == false)
    let effects = grant.fails(.store)
    #expect(grant.machine.health == .ok && effects.refusals.values.map { $0 } == [.store])
    grant.advance(100_000)
    let next = grant.wants().effects.exchanges
    #expect(next.count == 1 && next.first?.isReplay == false)
  }

  @Test func replacedToken_isStillFoundByItsFingerprint() {
    var grant = Grant.fresh()
    grant.wants(.forced, .mail)
    grant.succeeds()
    grant.wants(.forced, .mail)
    grant.succeeds()
    #expect(grant.machine.grant.audiences.key(ofFingerprint: "fp1") == .standard)
    #expect(grant.machine.grant.audiences.key(ofFingerprint: "fp2") == .mail)
    #expect(grant.machine.grant.audiences.key(ofFingerprint: "fp3") == .mail)
    #expect(grant.machine.grant.audiences.key(ofFingerprint: "other") == nil)
  }

  @Test func replacedToken_isNotCurrent() {
    var grant = Grant.fresh()
    grant.wants(.forced, .mail)
    grant.succeeds()
    grant.wants(.forced, .mail)
    grant.succeeds()
    let current = ["fp1", "fp2", "fp3", "other"].filter { grant.machine.grant.audiences.hasCurrent(fingerprint: $0) }
    #expect(current == ["fp1", "fp3"])
  }
}
