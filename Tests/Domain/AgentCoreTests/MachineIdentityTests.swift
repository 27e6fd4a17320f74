import AgentCore
import AgentModel
import Testing

/// The token machine of a machine identity, whose exchanges spend nothing (docs/machines.md, Exchanges).
@Suite struct MachineIdentityTests {
  /// An account without a token.
  private struct Holder {
    var machine: TokenMachine
    var now = BootInstant(milliseconds: 1_000_000)
    private var lastID: UInt64 = 0

    init() {
      var rule = ProviderConfiguration.RefreshRule()
      rule.reuse = .none
      machine = TokenMachine(health: .ok, rule: rule)
    }

    mutating func wants(_ demand: TokenMachine.Demand = .usable(minimumLifetime: .zero)) -> [TokenMachine.Effect] {
      lastID += 1
      return machine.wanted(by: lastID, key: .standard, demand: demand, at: now)
    }

    mutating func succeeds(serial: UInt64) -> [TokenMachine.Effect] {
      let token = TokenMachine.TokenFacts(
        serial: serial, lifetime: .seconds(300), refreshAt: now + .seconds(240), expiresAt: now + .seconds(300),
        fingerprint: "token \(serial)")
      return machine.exchangeSucceeded(attempt: machine.exchange?.number ?? 0, token: token, at: now)
    }

    mutating func fails(_ failure: ExchangeFailure) -> [TokenMachine.Effect] {
      machine.exchangeFailed(attempt: machine.exchange?.number ?? 0, failure, at: now, jitter: 0.5)
    }
  }

  private static let suspended = TokenMachine.installationSuspended

  @Test func fiftyCallers_shareOneExchange() {
    var holder = Holder()
    let begun = (1...50).flatMap { _ in holder.wants() }
    #expect(begun.count == 1)
    #expect(holder.succeeds(serial: 1) == (1...50).map { .answer($0, serial: 1, .refreshed) })
  }

  @Test func lostAnswer_leavesNothingInDoubt() {
    var holder = Holder()
    _ = holder.wants()
    _ = holder.fails(.unknownOutcome(ExchangeFailure.reset))
    #expect(holder.machine.health == .ok)
    #expect(holder.machine.state(at: holder.now) == .active)
    holder.now = holder.machine.nextAttemptAt ?? holder.now
    _ = holder.wants()
    #expect(holder.machine.exchange?.isReplay == false)
  }

  @Test func suspendedInstallation_isAskedAboutAgain() {
    var holder = Holder()
    _ = holder.wants()
    _ = holder.fails(.reauthenticate(reason: Self.suspended))
    #expect(holder.machine.state(at: holder.now) == .reauthenticationRequired)
    #expect(holder.wants() == [.refuse(2, .reauthenticate(reason: Self.suspended))])
    holder.now = holder.now + TokenMachine.recheckWhenForced
    #expect(holder.wants() == [.refuse(3, .reauthenticate(reason: Self.suspended))])
    #expect(holder.wants(.forced).count == 1)
    _ = holder.fails(.reauthenticate(reason: Self.suspended))
    holder.now = holder.now + TokenMachine.recheckWhenAsked
    #expect(holder.wants().count == 1)
    _ = holder.succeeds(serial: 1)
    #expect(holder.machine.state(at: holder.now) == .active)
  }

  @Test(arguments: [
    ("https://api.github.com/app/installations/67890/access_tokens", "https://api.github.com/installation/token"),
    (
      "https://github.corp.example/api/v3/app/installations/67890/access_tokens",
      "https://github.corp.example/api/v3/installation/token"
    ),
    ("https://api.github.com/app/installations/12345/access_tokens", nil),
    ("https://tokens.corp.example/github", nil),
  ])
  func installationToken_endsAtTheServerThatGaveIt(tokenEndpoint: String, expected: String?) {
    let installation = MachineGrant.Installation(appID: "12345", number: "67890")
    #expect(installation.revocationEndpoint(ofTokensOf: tokenEndpoint) == expected)
  }
}
