/// What `lanyard-web` may ask the agent for. It is the one list: a page or a form that asks for anything else gets nothing.
///
/// Nothing here answers with a token, a secret, an ID token or the claims of a person, so that none is ever in this program's
/// memory, whatever a page asks for.
package enum AllowedMethods {
  /// Whether the page may call this method of the agent.
  package static func contains(_ method: String) -> Bool { reads.contains(method) || changes.contains(method) }

  /// Whether a page may call it, and not only a form: it changes nothing.
  package static func isRead(_ method: String) -> Bool { reads.contains(method) }

  package static let reads: Set<String> = [
    "access.list", "account.get", "account.list", "agent.diagnose", "agent.listKeySlots", "agent.status", "approval.list",
    "audit.list", "audit.verify", "authorization.check", "authorization.checkMany", "connectivity.get", "event.subscribe",
    "grant.list", "metrics.read", "operation.list", "policy.explain", "policy.get", "policy.list", "provider.get",
    "provider.list", "revocation.list", "rule.list", "session.get", "stepUp.status",
  ]

  package static let changes: Set<String> = [
    "access.decide", "account.add", "account.forget", "account.rename", "account.replace", "account.signOut",
    "account.switch", "agent.lock", "agent.unlock", "approval.decide", "grant.revoke", "operation.cancel",
    "operation.retry", "policy.refresh", "revocation.abandon", "revocation.retry", "signIn.begin", "signIn.cancel",
    "stepUp.clear", "stepUp.verify",
  ]
}
