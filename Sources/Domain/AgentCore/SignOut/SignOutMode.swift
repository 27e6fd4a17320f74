/// The mode of a sign-out: the data that it keeps, and whether it may use the network (docs/sign-out.md, Modes).
public enum SignOutMode: String, CaseIterable, Hashable, Sendable {
  /// The data stays sealed; the revocation is tried.
  case soft
  /// The data's keys are destroyed; the revocation is tried.
  case hard
  /// The data stays sealed; the revocation waits until the network may be back.
  case offline
}

/// Where the account's data is after a sign-out.
public enum DataDisposition: String, CaseIterable, Hashable, Sendable {
  case sealed
  /// The keys are destroyed, and no trace is left on the disk.
  case erased
  /// The keys are destroyed. A reader of the store, or a failure of it, prevents the rest: `ErasureWorker` tries again.
  case erasurePending
}

/// The state of the revocations when a sign-out is answered.
public enum RevocationOutcome: String, CaseIterable, Hashable, Sendable {
  case confirmed
  /// In the outbox: tried again later.
  case queued
  /// The provider was reached and refuses this client. In the outbox: asked again in a day.
  case refused
  /// Tried, and not tried again: by its lifetime the token has expired.
  case abandoned
  /// The provider can't revoke tokens.
  case unsupported
  /// There was no token, or another account uses it.
  case notNeeded
}

extension RevocationOutcome {
  /// What a caller is told of several tokens: the first is the account's own, the others are of its earlier grants.
  /// `confirmed` only if all of them are.
  public static func joined(_ outcomes: [RevocationOutcome]) -> RevocationOutcome {
    outcomes.first { $0 != .confirmed } ?? outcomes.first ?? .notNeeded
  }
}
