/// The types of events (docs/protocol.md, Events), for the completion of `--type`. They look like methods
/// and are none.
public enum EventTypes {
  public static let all = [
    "account.added", "account.expiring", "account.switched", "account.renamed", "account.signedOut", "account.erased",
    "session.stateChanged", "session.expired", "token.refreshed", "token.scopesNarrowed", "snapshot.changed",
    "signIn.requested", "stepUp.granted", "stepUp.expired", "connectivity.changed", "revocation.confirmed",
    "revocation.abandoned", "operation.statusChanged", "agent.locked", "agent.unlocked", "policy.changed",
    "clock.suspect", "approval.requested", "approval.decided", "access.requested", "access.decided", "event.gap",
  ]
}
