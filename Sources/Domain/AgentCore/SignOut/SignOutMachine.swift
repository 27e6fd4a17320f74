/// One sign-out, in its order (docs/sign-out.md, Order): durable first, then callers are refused and keys wiped, then
/// the tokens are revoked as far as mode and time allow, then subscribers are notified. A value that performs nothing
/// and holds no secret: tokens are named by their entries in the outbox.
///
/// - Nothing is published or wiped before the sign-out is durable.
/// - The refresh token is revoked before the access tokens: its holder could make more of them.
/// - In `offline` mode no entry is sent.
/// - A report for a state that the machine is not in changes nothing.
public struct SignOutMachine: Hashable, Sendable {
  /// The id of an entry in the outbox.
  public typealias Entry = [UInt8]

  /// The result of the sign-out's transaction.
  public struct Departure: Hashable, Sendable {
    public var wasActive: Bool
    /// The refresh token's entry first, where there is one.
    public var entries: [Entry]
    /// Refresh tokens of earlier grants of the account, which are still to be revoked.
    public var earlier: [Entry]
    /// No trace of the erased data is left on the disk.
    public var isErased: Bool
    /// There was a secret, which its provider does not end.
    public var isUnrevocable: Bool

    public init(
      wasActive: Bool, entries: [Entry], earlier: [Entry] = [], isErased: Bool, isUnrevocable: Bool = false
    ) {
      self.isUnrevocable = isUnrevocable
      self.wasActive = wasActive
      self.entries = entries
      self.earlier = earlier
      self.isErased = isErased
    }
  }

  /// The result of the sign-out in the answer to the caller.
  public struct Outcome: Hashable, Sendable {
    public var data: DataDisposition
    public var revocation: RevocationOutcome

    public init(data: DataDisposition, revocation: RevocationOutcome) {
      self.data = data
      self.revocation = revocation
    }
  }

  /// The work that the machine waits for. The shell performs it and reports its end.
  public enum State: Hashable, Sendable {
    /// One durable transaction signs the account out.
    case committing
    /// The account's actor refuses its waiters and wipes its tokens.
    case releasing(Departure)
    /// The account's actor gives up an answer that it could not keep, whose refresh token must be revoked.
    case releasingHeldAnswer(Departure)
    /// Such a token is put off, since the network must not be used.
    case postponing(Entry, Departure)
    /// All entries are put off, since the network must not be used.
    case queueing(Departure)
    /// The refresh tokens' entries are sent, for as long as the caller waits.
    case revoking([Entry], Departure)
    case signedOut(Outcome)
    /// The transaction failed: the account is signed in as before.
    case failed
  }

  /// An effect that the shell performs at once, without waiting.
  public enum Effect: Hashable, Sendable {
    /// Tell subscribers the state.
    case tellState
    /// Tell subscribers that no account is active.
    case tellSwitched
    /// Send an entry in the background.
    case send(Entry)
    /// Tell subscribers what became of data and tokens.
    case tellSignedOut(Outcome)
    /// Tell subscribers which accounts left no trace.
    case tellErased
  }

  /// What becomes of the data, and what callers are told.
  public let mode: SignOutMode
  /// No network is touched.
  public let staysOffline: Bool
  public private(set) var state = State.committing

  /// - Parameter isHardDemanded: the configuration demands that every sign-out erases. One that was asked for offline still
  ///   touches no network.
  public init(_ asked: SignOutMode, isHardDemanded: Bool = false) {
    mode = isHardDemanded ? .hard : asked
    staysOffline = asked == .offline
  }

  // MARK: reports

  /// The sign-out is durable.
  public mutating func committed(_ departure: Departure) -> [Effect] {
    guard case .committing = state else { return [] }
    state = .releasing(departure)
    return []
  }

  /// The transaction failed.
  public mutating func refused() -> [Effect] {
    guard case .committing = state else { return [] }
    state = .failed
    return []
  }

  /// The waiters are refused and the tokens wiped. Subscribers get the new state now, and the outcome for the tokens
  /// later.
  public mutating func released() -> [Effect] {
    guard case .releasing(let departure) = state else { return [] }
    state = .releasingHeldAnswer(departure)
    return [.tellState] + (departure.wasActive ? [.tellSwitched] : [])
  }

  /// `held` is the entry of a token that the transaction did not know of; nil if there is none.
  public mutating func releasedHeldAnswer(_ held: Entry?) -> [Effect] {
    guard case .releasingHeldAnswer(let departure) = state else { return [] }
    guard let held else { return revoke(departure) }
    if staysOffline {
      state = .postponing(held, departure)
      return []
    }
    return [.send(held)] + revoke(departure)
  }

  public mutating func postponed() -> [Effect] {
    guard case .postponing(_, let departure) = state else { return [] }
    return revoke(departure)
  }

  public mutating func queued() -> [Effect] {
    guard case .queueing(let departure) = state else { return [] }
    return end(departure, .queued)
  }

  /// `outcome` is `RevocationOutcome.joined` of all the entries that the state names, and nil if the caller's time is
  /// over: the entry goes on to its end.
  public mutating func revoked(_ outcome: RevocationOutcome?) -> [Effect] {
    guard case .revoking(_, let departure) = state else { return [] }
    return departure.entries.dropFirst().map { .send($0) } + end(departure, outcome ?? .queued)
  }

  // MARK: rules

  private mutating func revoke(_ departure: Departure) -> [Effect] {
    let refreshTokens = departure.entries.prefix(1) + departure.earlier
    guard !refreshTokens.isEmpty else { return end(departure, departure.isUnrevocable ? .unsupported : .notNeeded) }
    state = staysOffline ? .queueing(departure) : .revoking(Array(refreshTokens), departure)
    return []
  }

  private mutating func end(_ departure: Departure, _ revocation: RevocationOutcome) -> [Effect] {
    let outcome = Outcome(data: data(departure), revocation: revocation)
    state = .signedOut(outcome)
    return [.tellSignedOut(outcome), .tellErased]
  }

  private func data(_ departure: Departure) -> DataDisposition {
    guard mode == .hard else { return .sealed }
    return departure.isErased ? .erased : .erasurePending
  }
}
