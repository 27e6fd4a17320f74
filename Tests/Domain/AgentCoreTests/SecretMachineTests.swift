import AgentCore
import AgentModel
import Testing

/// The token machine of an account that holds a secret (docs/secrets.md, Confirmation).
@Suite struct SecretMachineTests {
  private static func rule(isAsked: Bool) -> ProviderConfiguration.RefreshRule {
    var rule = ProviderConfiguration.RefreshRule()
    rule.secrets = .init(isAsked: isAsked, placement: .bearer)
    return rule
  }

  /// An account that holds the secret of this fingerprint.
  private struct Holder {
    var machine: TokenMachine
    var now = BootInstant(milliseconds: 1_000_000)
    private var lastID: UInt64 = 0

    init(isAsked: Bool = true, endsIn seconds: Int64? = nil) {
      machine = TokenMachine(health: .ok, rule: SecretMachineTests.rule(isAsked: isAsked))
      machine.holdSecret(until: seconds.map { now + .seconds($0) })
      machine.restore(facts(1), for: .standard)
    }

    func facts(_ serial: UInt64) -> TokenMachine.TokenFacts {
      let end = machine.secretEnd ?? now + .seconds(365 * 86_400)
      return TokenMachine.TokenFacts(
        serial: serial, lifetime: Milliseconds(.max), refreshAt: end, expiresAt: end, fingerprint: "key")
    }

    mutating func wants(_ demand: TokenMachine.Demand = .usable(minimumLifetime: .zero)) -> [TokenMachine.Effect] {
      lastID += 1
      return machine.wanted(by: lastID, key: .standard, demand: demand, at: now)
    }

    mutating func confirms(serial: UInt64 = 2) -> [TokenMachine.Effect] {
      machine.exchangeSucceeded(attempt: machine.exchange?.number ?? 0, token: facts(serial), at: now)
    }

    mutating func fails(_ failure: ExchangeFailure) -> [TokenMachine.Effect] {
      machine.exchangeFailed(attempt: machine.exchange?.number ?? 0, failure, at: now, jitter: 0.5)
    }

    var asks: Int { machine.exchange == nil ? 0 : 1 }
  }

  private static let refused = TokenMachine.Refusal.reauthenticate(reason: TokenMachine.secretRefused)

  @Test func secret_isAnsweredFromMemoryAndAsksNobody() {
    var holder = Holder()
    #expect(holder.wants() == [.answer(1, serial: 1, .cache)])
    #expect(holder.machine.exchange == nil)
  }

  @Test func fiftyRefusals_askTheProviderOnce() {
    var holder = Holder()
    for _ in 1...50 {
      let effects = holder.wants(.replacing(fingerprint: "key"))
      #expect(effects.allSatisfy { if case .exchange = $0 { true } else { false } })
    }
    #expect(holder.asks == 1)
    let answers = holder.confirms()
    #expect(answers == (1...50).map { .answer($0, serial: 2, .refreshed) })
    // For a minute the word of the provider stands.
    #expect(holder.wants(.replacing(fingerprint: "key")) == [.answer(51, serial: 2, .cache)])
    #expect(holder.wants(.forced) == [.answer(52, serial: 2, .cache)])
    holder.now = holder.now + TokenMachine.recheckSecret
    _ = holder.wants(.forced)
    #expect(holder.asks == 1)
  }

  @Test func secretOfAnotherFingerprint_isReplacedAlready() {
    var holder = Holder()
    #expect(holder.wants(.replacing(fingerprint: "old")) == [.answer(1, serial: 1, .cache)])
  }

  @Test func refusedSecret_endsTheSessionAndIsServedNoMore() {
    var holder = Holder()
    _ = holder.wants(.replacing(fingerprint: "key"))
    let effects = holder.fails(.reauthenticate(reason: TokenMachine.secretRefused))
    #expect(effects.contains(.withdrawTokens) && effects.contains(.refuse(1, Self.refused)))
    #expect(holder.machine.state(at: holder.now) == .reauthenticationRequired)
    #expect(holder.wants() == [.refuse(2, Self.refused)])
    #expect(holder.wants(.forced) == [.refuse(3, Self.refused)])
    #expect(
      holder.machine.tell(at: holder.now) == [
        .stateChanged(.reauthenticationRequired, previous: .active),
        .sessionExpired(reason: TokenMachine.secretRefused),
      ])
    // The provider may have been wrong: a person who forces it finds out, after the minute of all questions.
    holder.now = holder.now + TokenMachine.recheckSecret
    _ = holder.wants(.forced)
    #expect(holder.confirms().contains(.answer(4, serial: 2, .refreshed)))
    #expect(holder.machine.state(at: holder.now) == .active)
  }

  @Test func providerThatCantBeAsked_leavesTheSecretServed() {
    var holder = Holder()
    _ = holder.wants(.replacing(fingerprint: "key"))
    #expect(holder.fails(.offline(.refused)).contains(.answer(1, serial: 1, .staleOk)))
    #expect(holder.wants() == [.answer(2, serial: 1, .cache)])
    #expect(holder.machine.state(at: holder.now) == .offlineStale)
    holder.machine.reconnected()
    #expect(holder.machine.state(at: holder.now) == .active)
  }

  @Test func refreshThatFails_isToldAndLeavesTheSecretServed() {
    var holder = Holder()
    _ = holder.wants(.forced)
    let effects = holder.fails(.transient("status503", retryAfter: .seconds(7)))
    #expect(effects.contains(.refuse(1, .unavailable(retryAfter: .seconds(60)))), "the next question may come then")
    #expect(holder.wants() == [.answer(2, serial: 1, .cache)])
  }

  @Test func refreshWithinAMinuteOfAFailedQuestion_isToldTheFailureAndNoSuccess() {
    var holder = Holder()
    _ = holder.wants(.forced)
    holder.now = holder.now + .seconds(20)
    _ = holder.fails(.transient("status503", retryAfter: .seconds(5)))
    holder.now = holder.now + .seconds(10)
    #expect(holder.wants(.forced) == [.refuse(2, .unavailable(retryAfter: .seconds(30)))])
    #expect(holder.wants(.replacing(fingerprint: "key")) == [.answer(3, serial: 1, .cache)])
    holder.now = holder.now + .seconds(30)
    _ = holder.wants(.forced)
    #expect(holder.asks == 1)
    #expect(holder.confirms() == [.answer(4, serial: 2, .refreshed)])
    #expect(holder.wants(.forced) == [.answer(5, serial: 2, .cache)])
  }

  @Test func longerPauseOfTheProvider_isToldAfterAFailedQuestion() {
    var holder = Holder()
    _ = holder.wants(.forced)
    #expect(
      holder.fails(.transient("status429", retryAfter: .seconds(300))).contains(
        .refuse(1, .unavailable(retryAfter: .seconds(300)))))
  }

  /// Nothing reached the provider, so that no minute began.
  @Test func questionThatWasNotSent_isAskedAgainAfterItsPause() {
    var holder = Holder()
    _ = holder.wants(.forced)
    _ = holder.fails(.offline(.refused))
    let refused = holder.wants(.forced)
    guard case .refuse(2, .offline(.refused, let pause))? = refused.first else {
      Issue.record("\(refused)")
      return
    }
    #expect(refused.count == 1 && pause <= .seconds(15))
    holder.now = holder.now + pause
    _ = holder.wants(.forced)
    #expect(holder.asks == 1)
    _ = holder.fails(.offline(.refused))
    holder.machine.reconnected()
    _ = holder.wants(.forced)
    #expect(holder.asks == 1, "the network is back")
  }

  @Test func refusedQuestion_isAskedAgainOnceTheProviderIsConfiguredAnew() {
    var holder = Holder()
    _ = holder.wants(.forced)
    _ = holder.fails(.misconfigured("status404"))
    holder.now = holder.now + .seconds(10)
    #expect(holder.wants(.forced) == [.refuse(2, .misconfigured("status404"))])
    #expect(holder.wants() == [.answer(3, serial: 1, .cache)])
    _ = holder.machine.reconfigured(rule: Self.rule(isAsked: true))
    _ = holder.wants(.forced)
    #expect(holder.asks == 1)
  }

  @Test func providerWithoutWhoami_isNeverAsked() {
    var holder = Holder(isAsked: false)
    #expect(holder.wants(.forced) == [.answer(1, serial: 1, .cache)])
    #expect(holder.wants(.replacing(fingerprint: "key")) == [.answer(2, serial: 1, .cache)])
    #expect(holder.machine.exchange == nil)
  }

  @Test func secretAtItsEnd_isToldOnceAndNeitherServedNorAskedAbout() {
    var holder = Holder(endsIn: 60)
    #expect(holder.machine.stateMayChange(at: holder.now) == holder.now + .seconds(60))
    #expect(holder.machine.tell(at: holder.now).isEmpty)
    holder.now = holder.now + .seconds(60)
    #expect(
      holder.machine.tell(at: holder.now) == [
        .stateChanged(.reauthenticationRequired, previous: .active),
        .sessionExpired(reason: TokenMachine.secretExpired),
      ])
    #expect(holder.machine.tell(at: holder.now).isEmpty)
    let expired = TokenMachine.Refusal.reauthenticate(reason: TokenMachine.secretExpired)
    #expect(holder.wants() == [.refuse(1, expired)])
    #expect(holder.wants(.forced) == [.refuse(2, expired)])
    #expect(holder.machine.exchange == nil)
  }

  /// The provider's time was set past the end, and back.
  @Test func secretThatASetClockEnds_isServedAgainWithTheClockSetBack() {
    var holder = Holder(endsIn: 3600)
    holder.machine.holdSecret(until: holder.now + (.zero - .seconds(60)))
    holder.machine.retireSecret()
    #expect(holder.machine.standardToken == nil && holder.machine.liveSerials.isEmpty, "it is wiped")
    #expect(
      holder.machine.tell(at: holder.now) == [
        .stateChanged(.reauthenticationRequired, previous: .active),
        .sessionExpired(reason: TokenMachine.secretExpired),
      ])
    holder.machine.holdSecret(until: holder.now + .seconds(60))
    holder.machine.restore(holder.facts(2), for: .standard)
    #expect(
      holder.machine.tell(at: holder.now) == [.stateChanged(.active, previous: .reauthenticationRequired)])
    #expect(holder.wants() == [.answer(1, serial: 2, .cache)])
  }

  @Test func secretThatEndsDuringAQuestion_isRefusedAndKeepsItsHealth() {
    var holder = Holder()
    _ = holder.wants(.forced)
    let attempt = holder.machine.exchange?.number ?? 0
    holder.machine.holdSecret(until: holder.now)
    let expired = TokenMachine.Refusal.reauthenticate(reason: TokenMachine.secretExpired)
    #expect(holder.machine.secretEnded(attempt: attempt) == [.refuse(1, expired)])
    #expect(holder.machine.health == .ok && holder.machine.exchange == nil && holder.machine.standardToken == nil)
    #expect(holder.machine.secretEnded(attempt: attempt).isEmpty)
  }

  @Test func signedOutSecret_isRefused() {
    var holder = Holder()
    _ = holder.machine.signedOut()
    #expect(holder.wants() == [.refuse(1, .signedOut)])
  }
}
