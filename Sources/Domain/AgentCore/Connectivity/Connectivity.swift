public import AgentModel

/// Whether the providers can be reached, and the source of that knowledge.
public struct Connectivity: Hashable, Sendable {
  public enum State: String, CaseIterable, Hashable, Sendable { case online, offline, unknown }

  /// The source of the state.
  public enum Basis: String, CaseIterable, Hashable, Sendable {
    case none
    /// A client's report.
    case report
    /// The outcome of a request to a provider.
    case exchange
    /// A change of the machine's network interfaces.
    case interface
  }

  public var state: State
  /// By the wall clock.
  public var since: Timestamp
  public var basis: Basis

  public init(state: State, since: Timestamp, basis: Basis) {
    self.state = state
    self.since = since
    self.basis = basis
  }
}
