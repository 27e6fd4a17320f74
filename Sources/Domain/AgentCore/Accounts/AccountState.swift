/// The state of an account, as a user interface shows it.
public enum AccountState: String, CaseIterable, Hashable, Sendable {
  case active
  /// The provider can't be reached; what is cached is served.
  case offlineStale
  /// The provider wants the person, for one audience or for consent.
  case interactionRequired
  /// The refresh token is gone.
  case reauthenticationRequired
  /// The provider said that the account is disabled.
  case locked
  case signedOut

  /// The one rule of an account's state, for an account in memory and for one that is only on the disk.
  ///
  /// - Parameters:
  ///   - isIssuedElsewhere: the provider is another client or server now, to which nothing of the account goes.
  ///   - needsPerson: the provider wants the person for one of the audiences.
  ///   - isOffline: there was no way to the provider at the last attempt.
  ///   - mayRecover: the outcome of the last request is unknown, and a replay may still repair that.
  public init(
    health: TokenMachine.Health, isIssuedElsewhere: Bool, needsPerson: Bool, isOffline: Bool, mayRecover: Bool
  ) {
    self =
      switch health {
      case .signedOut: .signedOut
      case _ where isIssuedElsewhere: .interactionRequired
      case .reauthenticate: .reauthenticationRequired
      case .unknown where !mayRecover: .reauthenticationRequired
      case .locked: .locked
      case .ok, .unknown, .misconfigured: needsPerson ? .interactionRequired : isOffline ? .offlineStale : .active
      }
  }
}

/// Where an account's refresh stands.
public enum RefreshPhase: String, CaseIterable, Hashable, Sendable {
  case idle
  case inFlight
  /// A request was sent, and its outcome is unknown.
  case inDoubt
  case backoff
}

/// The key that seals an account's data while it is signed out: the vault's alone, or also the PIN's.
public enum DataProtection: String, CaseIterable, Hashable, Sendable { case vault, pin }

/// An action that can make a failed request succeed. A list is in the order in which to try.
public typealias Remedy = Decision.Remedy
