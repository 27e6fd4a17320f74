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
