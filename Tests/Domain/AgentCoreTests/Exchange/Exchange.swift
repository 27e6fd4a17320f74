import AgentCore
import AgentModel

/// The exchanges of one account in a test: the machine, and the token machine's attempts.
struct Exchange: Hashable {
  typealias Machine = ExchangeMachine
  typealias Effect = ExchangeMachine.Effect

  var machine = Machine()
  static let now = BootInstant(milliseconds: 1_000_000)
  static let bootID = "boot"

  /// An account that is loaded, with an empty journal.
  init(epoch: UInt64 = 1) { machine.loaded(epoch: epoch) }

  // MARK: what it works with

  /// A first attempt, or with `replay` the one that sends a refresh token again.
  static func attempt(_ key: TokenKey = .standard, replay: Bool = false) -> TokenMachine.Attempt {
    var rule = ProviderConfiguration.RefreshRule()
    (rule.reuse, rule.onUnknownOutcome) = (.strict, .replayOnce)
    var machine = TokenMachine(health: .ok, rule: rule)
    if replay { _ = machine.recoveredWithoutAnswer(sentAt: nil, wasReplay: false, at: now) }
    _ = machine.wanted(by: 1, key: key, demand: .forced, at: now)
    return machine.exchange!
  }

  static func intent(epoch: UInt64 = 1, replay: Bool = false, key: TokenKey = .standard) -> ExchangeIntent {
    ExchangeIntent(
      attempt: 1, epoch: epoch, generation: 7, fingerprint: "token", wall: Timestamp(milliseconds: 0), bootID: bootID,
      boot: now, key: key, isReplay: replay, nonce: [UInt8(epoch), replay ? 1 : 0])
  }

  // MARK: what happens

  /// The token machine begins an attempt, which gets a run.
  @discardableResult
  mutating func begins(_ attempt: TokenMachine.Attempt = Self.attempt(), as run: UInt64 = 1) -> [Effect] {
    machine.attemptBegan(attempt)
    return machine.begin(attempt, as: run)
  }

  /// The run of a new attempt goes on until its request was sent.
  @discardableResult
  mutating func sends(_ intent: ExchangeIntent = Self.intent(), as run: UInt64 = 1) -> [Effect] {
    begins(Self.attempt(intent.key, replay: intent.isReplay), as: run)
      + machine.queued(run, isAdmitted: true) + machine.prepared(run, .ready(intent)) + machine.began(run, .durable)
  }

  /// The same, until its answer came.
  @discardableResult
  mutating func hears(_ intent: ExchangeIntent = Self.intent(), as run: UInt64 = 1) -> [Effect] {
    sends(intent, as: run) + machine.sent(run, .answered(sentAt: Self.now))
  }

  /// The disk fails when the answer comes: it is held, and the attempt has failed.
  mutating func holds(_ intent: ExchangeIntent = Self.intent(), as run: UInt64 = 1) {
    hears(intent, as: run)
    _ = machine.staged(run, .storeFailed)
    _ = machine.ended(run)
  }

  func step(_ run: UInt64 = 1) -> Machine.Step? { machine.step(of: run) }
}
