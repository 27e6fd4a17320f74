import AgentCore
import AgentModel
import StateWalks
import Testing

/// A caller that waits meets no pause over 15 s, and all callers together make one attempt a pause (I6 of
/// `TokenMachine`). The agent itself keeps the long pauses (docs/ten-thousand-agents.md).
@Suite struct CallerPauseTests {
  static let unavailable = ExchangeFailure.transient("status503", retryAfter: nil)
  static let page = ExchangeFailure.unexplained(status: 403, isPage: true)

  /// The attempts of callers that ask each second, in seconds from the start.
  private func attempts(
    _ grant: inout Grant, for seconds: Int64, callers: Int = 1, _ failure: ExchangeFailure, jitter: Double = 1
  ) -> [Int64] {
    var attempts: [Int64] = []
    for second in 0..<seconds {
      for _ in 0..<callers { attempts += grant.wants(.forced).effects.exchanges.map { _ in second } }
      if grant.machine.exchange != nil { grant.fails(failure, jitter: jitter) }
      grant.advance(1)
    }
    return attempts
  }

  @Test(arguments: [
    unavailable, .offline(.refused), .untrustedServer(.tls), .transient("notAnOAuthAnswer", retryAfter: nil),
    .notAnswering,
  ])
  func callerInALongOutage_meetsNoPauseOverFifteenSeconds(failure: ExchangeFailure) {
    var grant = Grant()
    let attempts = attempts(&grant, for: 900, failure)
    #expect(zip(attempts, attempts.dropFirst()).allSatisfy { $1 - $0 <= 15 })
    #expect(attempts.count < 70, "and not much shorter ones")
    #expect(grant.machine.nextAttemptAt! - grant.now > .seconds(60), "the agent itself waits longer")
  }

  @Test func manyCallers_makeOneAttemptAPause() {
    var (one, many) = (Grant(), Grant())
    #expect(attempts(&one, for: 300, Self.unavailable) == attempts(&many, for: 300, callers: 20, Self.unavailable))
  }

  /// Longer by what remains of a caller's pause, since that attempt asked in the agent's place.
  @Test func callersAttempts_makeTheAgentsPausesHardlyLonger() throws {
    var (asked, left) = (Grant(), Grant())
    _ = attempts(&asked, for: 40, Self.unavailable)
    // The same outage without a caller between: 0, 1, 5 and 21 s.
    for pause in [1, 4, 16] {
      left.wants()
      left.fails(Self.unavailable, jitter: 1)
      left.advance(Int64(pause))
    }
    left.wants()
    left.fails(Self.unavailable, jitter: 1)
    #expect(asked.machine.failures == left.machine.failures)
    let (next, alone) = (try #require(asked.machine.nextAttemptAt), try #require(left.machine.nextAttemptAt))
    #expect(alone <= next && next - alone <= Backoff.longestForCallers)
  }

  /// A portal is gone after minutes: a caller that asks meanwhile does not make its page the provider's word.
  @Test func pagesOfAPortal_endNoSessionWithinTwoMinutes() {
    var grant = Grant()
    let attempts = attempts(&grant, for: 120, Self.page)
    #expect(attempts.count >= 8 && grant.machine.health == .ok)
    _ = self.attempts(&grant, for: 60, Self.page)
    #expect(grant.machine.health == .reauthenticate(reason: "unexplainedRefusal"))
  }

  @Test func unexplainedRefusalsOfOneAudience_areCountedOncePerPause() {
    var grant = Grant.fresh()
    for _ in 0..<40 {
      grant.wants(.forced, .mail)
      if let exchange = grant.machine.exchange {
        #expect(exchange.key == .mail)
        grant.fails(Self.page)
      }
      grant.advance(1)
    }
  }

  /// The provider's own time is the caller's, to the second; the agent's is spread.
  @Test func retryAfter_holdsCallersToTheSecond() {
    var grant = Grant()
    let (id, _) = grant.wants()
    let effects = grant.fails(.transient("status503", retryAfter: .seconds(300)), jitter: 1)
    #expect(effects.refusals == [id: .unavailable(retryAfter: .seconds(300))])
    #expect(grant.machine.nextAttemptAt == grant.now + .seconds(450))
    grant.advance(299)
    #expect(grant.wants(.forced).effects.exchanges.isEmpty)
    grant.advance(1)
    #expect(grant.wants().effects.exchanges.count == 1)
  }

  @Test func renewalWithoutACaller_keepsTheLongPause() {
    var grant = Grant.fresh(lifetime: 3600)
    var token = grant.token(lifetime: 3600)
    token.renewAt = token.refreshAt
    _ = grant.noted(grant.machine.adopt(token, for: .standard))
    grant.advance(3300)
    grant.wants()
    for pause in [1, 4, 16] {
      grant.fails(Self.unavailable, jitter: 1)
      grant.advance(Int64(pause))
      grant.renews()
    }
    grant.fails(Self.unavailable, jitter: 1)
    #expect(grant.machine.nextRenewal(at: grant.now) == grant.now + .seconds(64))
    grant.advance(20)
    #expect(grant.renews().exchanges.isEmpty)
    #expect(grant.wants(.usable(minimumLifetime: .zero)).effects.exchanges.isEmpty, "the token is still good")
    #expect(grant.wants(.forced).effects.exchanges.count == 1)
  }

  // MARK: a provider that does not answer

  @Test func callerThatGivesUp_getsTheTokenThatStillLives() {
    var grant = Grant.fresh()
    grant.advance(270)
    let (id, _) = grant.wants(.usable(minimumLifetime: .seconds(60)))
    grant.machine.waiterLeft(id)
    let usable = TokenMachine.Demand.usable(minimumLifetime: .seconds(60))
    #expect(grant.machine.gaveUp(9, key: .standard, demand: usable, at: grant.now) == [.answer(9, serial: 1, .staleOk)])
    let refused = [TokenMachine.Effect.refuse(9, .noAnswer(.stillWaiting))]
    #expect(grant.machine.gaveUp(9, key: .standard, demand: .forced, at: grant.now) == refused)
    grant.advance(30)
    #expect(grant.machine.gaveUp(9, key: .standard, demand: usable, at: grant.now) == refused)
    #expect(grant.machine.exchange != nil, "the exchange goes on")
    #expect(grant.succeeds().exchanges.isEmpty && grant.machine.health == .ok)
  }

  // MARK: refusals of the configuration

  @Test(arguments: ["invalid_client", "notBound"])
  func refusedConfiguration_isAskedAgainEveryFiveSecondsWhenForced(error: String) {
    var grant = Grant()
    #expect(attempts(&grant, for: 21, .misconfigured(error)) == [0, 5, 10, 15, 20])
    #expect(grant.wants().effects.exchanges.isEmpty, "a caller that forces nothing waits longer")
  }

  @Test func refusedScopes_areAskedForAgainEveryFiveSecondsWhenForced() {
    var grant = Grant.fresh()
    var requests: [BootInstant] = []
    for _ in 0..<11 {
      requests += grant.wants(.forced, .mail).effects.exchanges.map { _ in grant.now }
      if grant.machine.exchange != nil { grant.fails(.misconfigured("invalid_scope")) }
      #expect(grant.wants(.usable(minimumLifetime: .zero), .mail).effects.exchanges.isEmpty)
      grant.advance(1)
    }
    #expect(requests.count == 3)
  }

  // MARK: the network

  @Test(arguments: [
    page, .offline(.nameNotFound), .untrustedServer(.unknownAuthority), .transient("status302", retryAfter: nil),
    .transient("status511", retryAfter: nil), .transient("notAnOAuthAnswer", retryAfter: nil),
  ])
  func changeOfTheNetwork_endsThePauseOfAPortal(failure: ExchangeFailure) {
    var grant = Grant()
    _ = attempts(&grant, for: 29, failure)
    #expect(grant.wants().effects.exchanges.isEmpty)
    grant.machine.reconnected()
    #expect(grant.wants().effects.exchanges.count == 1)
  }

  @Test(arguments: [unavailable, .transient("throttled", retryAfter: .seconds(60))])
  func changeOfTheNetwork_endsNoPauseOfTheProvider(failure: ExchangeFailure) {
    var grant = Grant()
    _ = attempts(&grant, for: 30, failure)
    grant.machine.reconnected()
    #expect(grant.machine.nextAttemptAt! > grant.now)
  }
}
