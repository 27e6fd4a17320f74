package import AgentCore
package import AgentModel

/// The exchanges of one account, driven by a walk or a test: the machine, and the token machine's attempts.
package struct Exchange: Hashable {
  package typealias Machine = ExchangeMachine
  package typealias Effect = ExchangeMachine.Effect

  package var machine = Machine()
  package static let now = BootInstant(milliseconds: 1_000_000)
  package static let bootID = "boot"

  /// An account that is loaded, with an empty journal.
  package init(epoch: UInt64 = 1) { machine.loaded(epoch: epoch) }

  // MARK: fixtures

  /// A first attempt, or with `replay` the one that sends a refresh token again.
  package static func attempt(_ key: TokenKey = .standard, replay: Bool = false) -> TokenMachine.Attempt {
    var rule = ProviderConfiguration.RefreshRule()
    (rule.reuse, rule.onUnknownOutcome) = (.strict, .replayOnce)
    var machine = TokenMachine(health: .ok, rule: rule)
    if replay { _ = machine.recoveredWithoutAnswer(sentAt: nil, lostReplays: 0, at: now, jitter: 0) }
    _ = machine.wanted(by: 1, key: key, demand: .forced, at: now)
    return machine.exchange!
  }

  package static func intent(
    epoch: UInt64 = 1, replay: Bool = false, key: TokenKey = .standard, leaving: Bool = false,
    firstSent: ExchangeIntent.Sending? = nil
  ) -> ExchangeIntent {
    ExchangeIntent(
      attempt: 1, epoch: epoch, generation: 7, fingerprint: "token", wall: Timestamp(milliseconds: 0), bootID: bootID,
      boot: now, key: key, isReplay: replay, isLeaving: leaving, firstSent: firstSent,
      nonce: [UInt8(epoch), replay ? 1 : 0])
  }

  // MARK: events

  /// The token machine begins an attempt, which gets a run.
  @discardableResult
  package mutating func begins(_ attempt: TokenMachine.Attempt = Self.attempt(), as run: UInt64 = 1) -> [Effect] {
    machine.attemptBegan(attempt)
    return machine.begin(attempt, as: run)
  }

  /// Drives the run of a new attempt until it makes its connection.
  @discardableResult
  package mutating func prepares(_ intent: ExchangeIntent = Self.intent(), as run: UInt64 = 1) -> [Effect] {
    begins(Self.attempt(intent.key, replay: intent.isReplay), as: run)
      + machine.completed(run, .queued(isAdmitted: true)) + machine.completed(run, .prepared(.ready(intent)))
  }

  /// The connection stands at once.
  package mutating func connects(as run: UInt64 = 1) -> TokenMachine.Attempt? {
    machine.connected(run, at: Self.now, wall: Self.intent().wall)
  }

  /// Drives the run of a new attempt until its intent is durable.
  package mutating func begins(durably intent: ExchangeIntent, as run: UInt64 = 1) {
    prepares(intent, as: run)
    _ = connects(as: run)
    _ = machine.began(run, .durable)
  }

  /// Drives the run of a new attempt until its request is sent.
  @discardableResult
  package mutating func sends(_ intent: ExchangeIntent = Self.intent(), as run: UInt64 = 1) -> [Effect] {
    let effects = prepares(intent, as: run)
    _ = connects(as: run)
    _ = machine.began(run, .durable)
    _ = machine.marked(run, .done)
    return effects
  }

  /// Drives the run of a new attempt until its answer has arrived.
  @discardableResult
  package mutating func receivesAnswer(_ intent: ExchangeIntent = Self.intent(), as run: UInt64 = 1) -> [Effect] {
    sends(intent, as: run) + machine.completed(run, .sent(.answered(sentAt: Self.now)))
  }

  /// Drives the run until the disk fails at its answer: the answer is held, and the attempt has failed.
  package mutating func holds(_ intent: ExchangeIntent = Self.intent(), as run: UInt64 = 1) {
    receivesAnswer(intent, as: run)
    _ = machine.completed(run, .staged(.storeFailed))
    _ = machine.completed(run, .ended)
  }

  package func step(_ run: UInt64 = 1) -> Machine.Step? { machine.step(of: run) }
}
