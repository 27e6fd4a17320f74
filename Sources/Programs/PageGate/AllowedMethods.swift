/// What `lanyard-web` may ask the agent for. It is the one list: a page or a form that asks for anything else gets nothing.
///
/// Nothing here gives this program a token, a secret, an ID token or the claims of a person, so that none is ever in its memory,
/// whatever a page asks for. A key that a person types passes through it to `account.add`, and is wiped.
package enum AllowedMethods {
  /// Whether a page may call it: it changes nothing.
  package static func isRead(_ method: String) -> Bool { reads.contains(method) }

  /// Whether a form may call it.
  package static func isChange(_ method: String) -> Bool { changes[method] != nil }

  /// Whether this member of the method's result may leave the line that the agent sent, which is wiped.
  package static func keeps(_ member: String, of method: String) -> Bool {
    reads.contains(method) || changes[method]?.contains(member) == true
  }

  package static let reads: Set<String> = [
    "access.list", "account.list", "agent.diagnose", "agent.status", "approval.list", "audit.list", "connectivity.get",
    "event.subscribe", "grant.list", "metrics.read", "operation.list", "policy.explain", "policy.get", "policy.list",
    "provider.list", "revocation.list", "session.get",
  ]

  /// With the members of the result that are kept. `grant.create` answers with the secret of a grant, and `snapshot.refresh`
  /// with what a provider says of a person.
  package static let changes: [String: Set<String>] = [
    "access.decide": ["expiresAt", "request", "status"],
    "account.add": ["account"],
    "account.signOut": ["account", "data", "mode", "revocation"],
    "account.switch": ["account"],
    "agent.lock": ["locked"],
    "agent.unlock": ["locked"],
    "approval.decide": ["account", "approval", "verdict"],
    "grant.create": ["client", "expiresAt", "grant", "methods"],
    "grant.revoke": ["grant"],
    "operation.cancel": ["operation", "status"],
    "operation.retry": ["operation", "status"],
    "revocation.abandon": ["revocation"],
    "revocation.retry": ["revocations"],
    "signIn.begin": [
      "authorizationUrl", "expiresAt", "flow", "signIn", "userCode", "verificationUri", "verificationUriComplete",
    ],
    "snapshot.refresh": ["account"],
  ]
}
