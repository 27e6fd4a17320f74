public import AgentModel

/// The facts that `TokenMachine` remembers over a restart (docs/tokens.md, Health and freshness).
public struct TokenMemory: Hashable, Sendable {
  public var health: TokenMachine.Health
  /// The audiences for which the provider wants the person, with the claims that it asked for.
  public var interactions: [TokenKey: String?]
  /// How long the provider is left in peace; without it a restart would ask sooner than a provider allowed.
  public var patience: Patience?

  public struct Patience: Hashable, Sendable {
    public var until: BootInstant
    /// How long a caller's request is refused; not after `until`.
    public var callersUntil: BootInstant
    public var failure: ExchangeFailure
    /// Failures in a row that asked for patience.
    public var failures: Int
    /// Those of `failures` that the provider did not explain.
    public var unexplained: Int

    public init(
      until: BootInstant, callersUntil: BootInstant, failure: ExchangeFailure, failures: Int, unexplained: Int
    ) {
      self.until = until
      self.callersUntil = callersUntil
      self.failure = failure
      self.failures = failures
      self.unexplained = unexplained
    }
  }

  public init(
    health: TokenMachine.Health, interactions: [TokenKey: String?] = [:], patience: Patience? = nil
  ) {
    self.health = health
    self.interactions = interactions
    self.patience = patience
  }
}
