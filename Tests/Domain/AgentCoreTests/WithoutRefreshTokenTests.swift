import AgentCore
import AgentModel
import StateWalks
import Testing

/// A grant without a refresh token: what it can't serve fails alone, as long as the token of the sign-in lives.
@Suite struct WithoutRefreshTokenTests {
  private static let failure = ExchangeFailure.reauthenticate(reason: TokenMachine.noRefreshToken)
  private static let other = TokenKey(scopes: ScopeSet(["files"]))

  @Test(arguments: [
    (TokenMachine.Demand.forced, TokenKey.standard), (.forced, other), (.usable(minimumLifetime: .seconds(60)), other),
    (.usable(minimumLifetime: .zero), TokenKey(resource: "https://api.test")),
  ])
  func requestThatTheGrantCannotServe_failsAlone(demand: TokenMachine.Demand, key: TokenKey) {
    var grant = Grant.fresh()
    for _ in 0..<3 {
      let (id, effects) = grant.wants(demand, key)
      #expect(effects.exchanges.count == 1)
      #expect(grant.machine.failsAlone(Self.failure, attempt: grant.machine.exchange?.number ?? 0, at: grant.now))
      let failed = grant.fails(Self.failure)
      #expect(failed == [.refuse(id, .misconfigured(TokenMachine.noRefreshToken))])
    }
    #expect(grant.machine.health == .ok && !grant.machine.hasInteraction)
    #expect(grant.wants().effects.answers.count == 1)
  }

  @Test func tokenTooShortForTheCaller_isServedAllTheSame() {
    var grant = Grant.fresh()
    grant.advance(200)
    let id = grant.wants(.usable(minimumLifetime: .seconds(200))).id
    #expect(grant.fails(Self.failure) == [.answer(id, serial: 1, .staleOk)])
    #expect(grant.machine.health == .ok)
  }

  @Test func rejectedToken_endsTheSession() {
    var grant = Grant.fresh()
    grant.wants(.replacing(fingerprint: "fp1"))
    grant.fails(Self.failure)
    #expect(grant.machine.health == .reauthenticate(reason: TokenMachine.noRefreshToken))
  }

  @Test func expiredToken_endsTheSession() {
    var grant = Grant.fresh()
    grant.advance(300)
    grant.wants()
    grant.fails(Self.failure)
    #expect(grant.machine.health == .reauthenticate(reason: TokenMachine.noRefreshToken))
  }

  /// A refusal by the provider is another matter.
  @Test func otherRefusal_isOfTheGrant() {
    var grant = Grant.fresh()
    grant.wants(.forced, Self.other)
    grant.fails(.reauthenticate(reason: "invalid_grant"))
    #expect(grant.machine.health == .reauthenticate(reason: "invalid_grant"))
  }
}
