/// What an entry of the audit log says happened.
struct EntryText {
  let entry: AuditEntry

  init(_ entry: AuditEntry) { self.entry = entry }

  func write(to html: inout HTML) {
    html.element("b", ["class": "what"]) { $0.name(subject) }
    let rest = details
    if !rest.isEmpty { html.small { $0.name(rest) } }
  }

  private func fact(_ name: String) -> String? { entry.fact(name) }

  private var subject: String {
    switch entry.event {
    case "request.authorize", "request.send", "request.pass":
      return [fact("method"), fact("origin").map(Self.host)].compactMap { $0 }.joined(separator: " ")
    case "authorization.check": return fact("capability") ?? "A decision"
    case "policy.shadow": return "On trial: \(fact("capability") ?? fact("origin") ?? "a request")"
    case "session.stateChanged":
      let state = fact("state").flatMap { Account.State(rawValue: $0) }?.words.short ?? fact("state") ?? "changed"
      return "Session: \(state)"
    default: return Self.names[entry.event] ?? entry.event
    }
  }

  private var details: String {
    var parts: [String] = []
    switch entry.event {
    case "request.authorize": parts.append("by the proxy or a tool")
    case "request.send": parts.append("sent by the agent")
    case "request.pass": parts.append("passed without a token")
    case "authorization.check": parts.append("asked whether it may")
    default: break
    }
    if entry.isRequest, let capability = fact("capability") { parts.append("as \(capability)") }
    let isForProgram = entry.event.hasPrefix("approval.") || entry.event.hasPrefix("access.")
    if isForProgram {
      parts += [fact("method"), fact("origin").map(Self.host)].compactMap { $0 }
      if let capability = fact("capability") { parts.append("as \(capability)") }
    }
    if entry.event.hasPrefix("grant.") || entry.event.hasSuffix(".decide"), let client = fact("grantee") {
      parts.append("for \(client)")
    }
    if let grant = fact("grant"), entry.isRequest || entry.event.hasPrefix("grant.") { parts.append("grant \(grant)") }
    for name in ["provider", "policy", "program", "pattern", "issuer"] where !entry.isRequest {
      if let value = fact(name) { parts.append(value) }
    }
    // The mode of a verdict says how the person gave it.
    switch (entry.event, fact("mode")) {
    case ("account.signOut", let mode?): parts.append("\(mode) sign-out")
    case (_, "pinentry"?): parts.append("in the agent's own prompt")
    default: break
    }
    if entry.event == "request.pass", let bytes = fact("bytes") { parts.append("\(bytes) bytes") }
    if entry.event == "session.stateChanged",
      let before = fact("previous").flatMap({ Account.State(rawValue: $0) })
    {
      parts.append("was \(before.words.short)")
    }
    return parts.joined(separator: " · ")
  }

  private static func host(_ origin: String) -> String {
    origin.hasPrefix("https://") ? String(origin.dropFirst(8)) : origin
  }

  private static let names = [
    "signIn": "Signed in", "account.signOut": "Signed out", "account.forget": "Account forgotten",
    "account.add": "Key added", "account.replace": "Key replaced", "account.switch": "Made the active account",
    "account.rename": "Account renamed", "provider.add": "Provider added", "provider.update": "Provider changed",
    "provider.remove": "Provider removed", "policy.set": "Policy set", "policyBundle.accept": "Policy bundle accepted",
    "policyBundle.refuse": "Policy bundle refused", "session.tokenBinding": "Binding of tokens changed",
    "agent.initialize": "Vault created", "agent.unlock": "Vault unlocked", "agent.lock": "Vault locked",
    "agent.addKeySlot": "Key slot added", "agent.removeKeySlot": "Key slot removed",
    "agent.rotateRootKey": "Root key rotated", "agent.acceptOldStore": "Old copy of the store accepted",
    "agent.backup": "Backup written", "agent.restore": "Backup restored", "revocation.confirmed": "Token revoked",
    "revocation.abandoned": "Revocation abandoned", "stepUp.enroll": "PIN set", "stepUp.verify": "Confirmed by you",
    "stepUp.unenroll": "PIN removed", "stepUp.clear": "Step-up ended", "grant.create": "Grant created",
    "grant.revoke": "Grant revoked", "exec.begin": "Tokens given to a command", "rule.add": "Rule added",
    "rule.remove": "Rule removed", "audit.gap": "Entries are missing", "approval.requested": "Waited for your approval",
    "approval.decide": "You decided", "approval.decided": "Ended without your word",
    "access.request": "Asked for more access", "access.decide": "You decided about access",
  ]
}
