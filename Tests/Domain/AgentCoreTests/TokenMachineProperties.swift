import AgentCore
import AgentModel
import StateWalks
import Testing

/// Invariants of `TokenMachine` in seeded histories. A failure prints its seed.
@Suite struct TokenMachineProperties {
  struct Broken: Error, CustomStringConvertible {
    var seed: UInt64
    var step: Int
    var what: String
    var description: String { "seed \(seed), step \(step): \(what)" }
  }

  struct Random: RandomNumberGenerator {
    var state: UInt64
    mutating func next() -> UInt64 {
      state &+= 0x9E37_79B9_7F4A_7C15
      var z = state
      z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
      z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
      return z ^ (z >> 31)
    }
  }

  /// The surroundings of one machine: a provider that rotates, callers, a clock, and what they observed.
  struct World {
    let seed: UInt64
    var random: Random
    let reuse: ProviderConfiguration.RefreshRule.Reuse
    let choice: ProviderConfiguration.RefreshRule.OnUnknownOutcome
    var machine: TokenMachine
    var now = BootInstant(milliseconds: 1000)
    var step = 0
    var nextID: UInt64 = 0
    var nextSerial: UInt64 = 0
    var open: [UInt64: TokenKey] = [:]
    var keyOf: [UInt64: TokenKey] = [:]
    var expiry: [UInt64: BootInstant] = [:]
    var inFlight: TokenMachine.Attempt?
    /// The number of times that the current refresh token was sent with an unknown outcome.
    var doubts = 0
    var firstDoubtAt: BootInstant?
    /// When the last answer was lost.
    var lastDoubtAt: BootInstant?
    /// A replay was answered by what does not settle the doubt.
    var isAnswered = false
    let graceSeconds: Int64
    /// The state that subscribers know.
    var state = AccountState.active

    init(seed: UInt64) {
      self.seed = seed
      random = Random(state: seed)
      reuse = [.none, .grace, .strict][Int(seed % 3)]
      choice = [.reauthenticate, .replayOnce, .replayLast][Int(seed / 3 % 3)]
      graceSeconds = [0, 10, 600][Int(seed / 9 % 3)]
      machine = TokenMachine(health: .ok, rule: Grant.rule(reuse, grace: graceSeconds, choice))
    }

    func fail(_ what: String) -> Broken { Broken(seed: seed, step: step, what: what) }

    /// The state is told before any other effect: only a change, and `session.expired` with the one change that it is
    /// for.
    mutating func tell() throws {
      let told = machine.tell(at: now)
      guard !told.isEmpty else { return }
      guard case .stateChanged(let new, previous: state) = told[0], new != state else {
        throw fail("no change: \(told)")
      }
      state = new
      let isExpired = if told.count == 2, case .sessionExpired = told[1] { true } else { false }
      guard isExpired == (state == .reauthenticationRequired), told.count <= 2 else { throw fail("\(told)") }
    }

    /// What a caller is refused with agrees with the state.
    func agrees(_ refusal: TokenMachine.Refusal) -> Bool {
      switch refusal {
      // A lost answer costs the person nothing while a token is served, and no other one can be had.
      case .reauthenticate(TokenMachine.outcomeUnknown) where machine.isDoubtHarmless(at: now): state != .locked
      case .reauthenticate: state == .reauthenticationRequired
      case .locked: state == .locked
      case .signedOut: state == .signedOut
      case .offline: state == .offlineStale || state == .interactionRequired
      case .interaction, .misconfigured, .untrustedServer, .unavailable, .noAnswer, .store: true
      }
    }

    mutating func take(_ effects: [TokenMachine.Effect]) throws {
      try tell()
      guard state == machine.state(at: now) else { throw fail("the told state is another") }
      for effect in effects {
        switch effect {
        case .exchange(let attempt):
          guard inFlight == nil else { throw fail("two exchanges in flight (I1)") }
          guard machine.health != .signedOut else { throw fail("an exchange after signing out") }
          if doubts > 0 {
            guard attempt.isReplay else { throw fail("a token in doubt is sent as if it were not (I4)") }
            guard !isAnswered else { throw fail("a replay after one that was answered (I4)") }
            guard doubts < (choice == .replayLast ? 6 : 2) else { throw fail("a replay too many (I4)") }
            let isLast = choice == .replayLast && now >= lastDoubtAt! + .seconds(15)
            let hasLiveToken = machine.tokens.values.contains { now < $0.expiresAt }
            switch (reuse, choice) {
            case (.none, _): break
            case (.strict, .replayLast):
              guard !hasLiveToken else { throw fail("the last replay came before the token expired (I4)") }
              guard isLast else { throw fail("the last replay came too soon (I4)") }
            case (.grace, .replayLast) where !hasLiveToken && isLast: break
            case (.grace, _):
              guard now < firstDoubtAt! + Milliseconds.seconds(graceSeconds) / 2 else {
                throw fail("a late replay (I4)")
              }
            case (.strict, .reauthenticate): throw fail("a strict provider was asked again (I4)")
            case (.strict, .replayOnce): break
            }
          } else if attempt.isReplay, reuse != .none {
            throw fail("a replay of nothing")
          }
          inFlight = attempt
        case .answer(let id, let serial, let source):
          guard let key = open.removeValue(forKey: id) else { throw fail("answered twice, or no such waiter (I2)") }
          guard keyOf[serial] == key else { throw fail("a token of another key") }
          guard now < expiry[serial]! || source == .refreshed else { throw fail("an expired token") }
          guard machine.liveSerials.contains(serial) else { throw fail("a token that was wiped") }
          guard machine.servesTokens else { throw fail("a token of a refused grant") }
        case .refuse(let id, let refusal):
          guard agrees(refusal) else { throw fail("\(refusal) in state \(state)") }
          guard open.removeValue(forKey: id) != nil else { throw fail("refused twice, or no such waiter (I2)") }
        case .persistHealth, .withdrawTokens: break
        case .sessionExpired, .stateChanged: throw fail("the state is told by `tell` alone")
        }
      }
      guard inFlight == machine.exchange else { throw fail("another exchange than was asked for") }
      guard open.isEmpty || inFlight != nil else { throw fail("a waiter without an exchange in flight (I2)") }
    }

    mutating func token(for key: TokenKey) -> TokenMachine.TokenFacts {
      nextSerial += 1
      let lifetime = Milliseconds(Int64.random(in: 1...400_000, using: &random))
      keyOf[nextSerial] = key
      expiry[nextSerial] = now + lifetime
      return TokenMachine.TokenFacts(
        serial: nextSerial, lifetime: lifetime, refreshAt: now + (lifetime - LeadTime.of(lifetime: lifetime)),
        expiresAt: now + lifetime, fingerprint: "fp\(nextSerial)")
    }

    mutating func ask() throws {
      let key: TokenKey = [.standard, .standard, .mail, .files].randomElement(using: &random)!
      let demand: TokenMachine.Demand
      switch Int.random(in: 0..<4, using: &random) {
      case 0: demand = .forced
      case 1: demand = .replacing(fingerprint: "fp\(UInt64.random(in: 0...nextSerial, using: &random))")
      default: demand = .usable(minimumLifetime: .seconds(Int64.random(in: 0...120, using: &random)))
      }
      nextID += 1
      open[nextID] = key
      try take(machine.wanted(by: nextID, key: key, demand: demand, at: now))
    }

    mutating func end() throws {
      // Sometimes an answer of another attempt, an old one, or a duplicate.
      if Int.random(in: 0..<10, using: &random) == 0 {
        let stray = inFlight.map { $0.number + UInt64.random(in: 1...3, using: &random) } ?? 1
        try take(machine.exchangeSucceeded(attempt: stray, token: token(for: .standard), at: now))
        return try take(machine.exchangeFailed(attempt: stray, .locked, at: now, jitter: 0))
      }
      guard let attempt = inFlight else { return }
      inFlight = nil
      let jitter = Double.random(in: 0..<1, using: &random)
      let effects: [TokenMachine.Effect]
      switch Int.random(in: 0..<16, using: &random) {
      case 0..<6:
        (doubts, isAnswered) = (0, false)
        effects = machine.exchangeSucceeded(attempt: attempt.number, token: token(for: attempt.key), at: now)
      case 6:
        (doubts, isAnswered) = (0, false)
        effects =
          Bool.random(using: &random)
          ? machine.exchangeBroughtNoToken(attempt: attempt.number, at: now)
          : machine.exchangeBroughtUnboundToken(attempt: attempt.number, at: now)
      case 7..<11:
        if reuse != .none {
          if doubts == 0 { firstDoubtAt = attempt.startedAt }
          doubts += 1
          lastDoubtAt = now
        }
        effects = machine.exchangeFailed(attempt: attempt.number, .unknownOutcome("reset"), at: now, jitter: jitter)
      case 11..<15:
        let failure: ExchangeFailure = [
          .offline(.refused), .untrustedServer(.tls), .store, .transient("status503", retryAfter: nil),
          .transient("throttled", retryAfter: .seconds(60)), .unexplained(status: 400), .interaction(claims: nil),
          .misconfigured("invalid_target"),
        ].randomElement(using: &random)!
        // A replay that was answered is spent, unless the provider did not serve it.
        switch failure {
        case .offline, .untrustedServer, .store, .transient: break
        default: if attempt.isReplay { isAnswered = true }
        }
        effects = machine.exchangeFailed(attempt: attempt.number, failure, at: now, jitter: jitter)
      default:
        let failure: ExchangeFailure = [
          .reauthenticate(reason: "refused"), .locked, .misconfigured("invalid_client"),
        ].randomElement(using: &random)!
        if attempt.isReplay, case .misconfigured = failure { isAnswered = true }
        effects = machine.exchangeFailed(attempt: attempt.number, failure, at: now, jitter: jitter)
      }
      try take(effects)
    }

    mutating func run(steps: Int) throws {
      for step in 0..<steps {
        self.step = step
        switch Int.random(in: 0..<40, using: &random) {
        case 0..<18: try ask()
        case 18..<30: try end()
        case 30..<35:
          now = now + Milliseconds(Int64.random(in: 0...200_000, using: &random))
        case 35:
          if let id = open.keys.sorted().randomElement(using: &random) {
            open[id] = nil
            machine.waiterLeft(id)
          }
        case 36: machine.reconnected()
        case 37: try take(machine.reconfigured(rule: Grant.rule(reuse, grace: graceSeconds, choice)))
        case 38 where machine.exchange == nil:
          // A sign-in brings another refresh token.
          (doubts, isAnswered) = (0, false)
          try take(machine.adopt(token(for: .standard), for: .standard))
        case 39 where Int.random(in: 0..<20, using: &random) == 0:
          inFlight = nil
          try take(machine.signedOut())
          guard open.isEmpty else { throw fail("a waiter is left after the sign-out") }
          (doubts, isAnswered) = (0, false)
          if machine.exchange == nil { try take(machine.adopt(token(for: .standard), for: .standard)) }
        default: break
        }
      }
      // In the end every exchange has ended and no caller waits.
      while let attempt = inFlight {
        inFlight = nil
        (doubts, isAnswered) = (0, false)
        try take(machine.exchangeSucceeded(attempt: attempt.number, token: token(for: attempt.key), at: now))
      }
      guard open.isEmpty else { throw fail("\(open.count) lost waiters (I2)") }
    }
  }

  @Test(arguments: 0..<10)
  func randomHistories_keepTheTokenInvariants(block: UInt64) throws {
    for seed in (block * 600)..<((block + 1) * 600) {
      var world = World(seed: seed)
      try world.run(steps: 300)
    }
  }
}
