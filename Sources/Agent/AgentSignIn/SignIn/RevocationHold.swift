internal import AgentModel
internal import AgentRecords

/// Revocations that are held back from before a request until the login that it brings is stored, or there is none: sent
/// meanwhile, one could end that login (docs/sign-out.md, Outbox).
struct RevocationHold: Sendable {
  let id: UInt64
  let release: @Sendable (UInt64, Identity?) async -> Void
  let background: BackgroundWork

  /// The login is stored: tries what still waits for the person, for a few seconds.
  func release(trying person: Identity?) async { await release(id, person) }

  /// The request brought no login. Does nothing after `release`.
  func end() { background.start { await release(id, nil) } }
}
