public import AgentModel

extension OperationMachine {
  /// Names one claim of one client.
  public typealias Claim = String

  public enum Delivery: String, Hashable, Sendable, CaseIterable { case agent, client }

  /// `status` of the contract.
  public enum Status: String, Hashable, Sendable, CaseIterable {
    case queued, ready, sending, done, rejected, needsInteraction, unknown, orphaned, cancelled
  }

  public enum Rejection: String, Hashable, Sendable, CaseIterable { case policy, server, conflict, expired }

  public enum State: Hashable, Sendable {
    /// Waits for its turn, and for the end of a pause.
    case queued(notBefore: Timestamp?)
    /// Waits for a client that claims it.
    case ready
    /// The request may have left.
    case sending
    case claimed(Claim)
    case done
    case rejected(Rejection)
    /// The provider or the resource server wants the person.
    case needsInteraction
    /// The answer was lost. Nil: it is not sent again before the person says so.
    case unknown(retryAt: Timestamp?)
    /// Its account was erased.
    case orphaned
    case cancelled
  }

  public enum Effect: Hashable, Sendable {
    /// Make the state durable before anything else happens.
    case store
    /// Then tell subscribers the new status.
    case tell(previous: Status)
  }

  /// What a client told of an operation that it claimed.
  public enum Outcome: String, Hashable, Sendable, CaseIterable { case done, rejected, retry }

  /// The answer of a resource server.
  public struct Answer: Hashable, Sendable {
    public var status: Int
    /// `Retry-After`.
    public var retryAfter: Milliseconds?

    public init(status: Int, retryAfter: Milliseconds? = nil) {
      self.status = status
      self.retryAfter = retryAfter
    }
  }

  /// The facts of an operation that was stored.
  public struct Stored: Hashable, Sendable {
    public var state: State
    public var attempts: Int
    public var failures: Int
    public var serverErrors: Int
    public var firstSentAt: Timestamp?
    public var isInDoubt: Bool

    public init(
      state: State, attempts: Int, failures: Int, serverErrors: Int, firstSentAt: Timestamp?, isInDoubt: Bool
    ) {
      self.state = state
      self.attempts = attempts
      self.failures = failures
      self.serverErrors = serverErrors
      self.firstSentAt = firstSentAt
      self.isInDoubt = isInDoubt
    }
  }
}
