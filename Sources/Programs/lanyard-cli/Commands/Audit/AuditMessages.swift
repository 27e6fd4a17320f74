import CommandSupport
import JSONRPC

/// The events of the audit log as sentences.
enum AuditMessages {
  static func sentence(_ event: String, outcome: String, _ facts: JSONNode?) -> String {
    if event == "authorization.check" { return decision(outcome, facts) }
    if event == "request.authorize" || event == "request.send" { return request(event, outcome, facts) }
    if event == "request.pass" { return pass(outcome, facts) }
    if event == "policyBundle.refuse" { return bundleRefused(facts) }
    if event == "policy.shadow" { return shadow(outcome, facts) }
    let text = done(event, facts) ?? known(event, facts)
    return outcome == "ok" ? text : "\(text): \(outcome)"
  }

  private static func fact(_ facts: JSONNode?, _ name: StaticString) -> String? { facts?[name]?.displayText }

  private static func decision(_ outcome: String, _ facts: JSONNode?) -> String {
    let capability = fact(facts, "capability") ?? "something"
    let reason = fact(facts, "reason").map { " (\(Text.words($0)))" } ?? ""
    switch outcome {
    case "allow": return "may do \(capability)"
    case "readOnly", "allowReadOnly": return "may only read for \(capability)\(reason)"
    case "deny": return "may not do \(capability)\(reason)"
    default: return "\(capability): \(outcome)\(reason)"
    }
  }

  /// For whom, under which grant, and whether the policy or the grant refused it.
  private static func request(_ event: String, _ outcome: String, _ facts: JSONNode?) -> String {
    let request = "\(fact(facts, "method") ?? "a request") to \(fact(facts, "origin") ?? "a server")"
    let grantee = fact(facts, "grantee").map { " for \($0)" } ?? ""
    let grant = fact(facts, "grant").map { " (grant \($0))" } ?? ""
    let capability = fact(facts, "capability").map { " by \($0)" } ?? ""
    let reason = fact(facts, "reason").map { " (\(Text.words($0)))" } ?? ""
    let what = event == "request.send" ? "\(request)\(grantee)\(grant)" : "token for \(request)\(grantee)\(grant)"
    switch outcome {
    case "allow", "readOnly": return what + (capability.isEmpty ? "" : ", allowed\(capability)")
    case "deny": return "refused: \(what), denied\(capability)\(reason)"
    case "notPermitted": return "refused: \(what), the grant only reads"
    default: return "\(what): \(outcome)"
    }
  }

  /// What went through a proxy without a token.
  private static func pass(_ outcome: String, _ facts: JSONNode?) -> String {
    let origin = fact(facts, "origin") ?? "a server"
    let program = fact(facts, "grantee").map { "\($0) " } ?? ""
    let grant = fact(facts, "grant").map { " (grant \($0))" } ?? ""
    guard outcome == "ok" else { return "refused: \(program)passing to \(origin) without a token\(grant)" }
    let size = facts?["bytes"]?.integer.map { ", \($0) bytes" } ?? ""
    return "\(program)passed to \(origin) without a token\(grant)\(size)"
  }

  private static func done(_ event: String, _ facts: JSONNode?) -> String? {
    let provider = fact(facts, "provider") ?? "a provider"
    let issuer = fact(facts, "issuer") ?? "the provider"
    let reason = fact(facts, "reason").map { " (\(Text.words($0)))" } ?? ""
    return switch event {
    case "signIn": facts?["new"]?.bool == false ? "signed in again at \(provider)" : "signed in at \(provider)"
    case "account.signOut": "signed out" + (fact(facts, "mode").map { " (\($0))" } ?? "")
    case "account.forget": "account forgotten"
    case "account.switch": "made the active account"
    case "account.rename": "account renamed"
    case "provider.add": "provider \(provider) added"
    case "provider.update": "provider \(provider) changed"
    case "provider.remove": "provider \(provider) removed"
    case "policy.set": policySet(facts)
    case "policyBundle.accept": "policy bundle accepted, version \(fact(facts, "bundleVersion") ?? "unknown")"
    case "session.stateChanged": stateChanged(facts)
    case "session.tokenBinding":
      fact(facts, "state") == "bearer"
        ? "the provider gave a token that is not bound to the account's key"
        : "tokens are bound to the account's key again"
    case "agent.initialize": "vault created"
    case "agent.unlock": "vault unlocked"
    case "agent.lock": "vault locked"
    case "agent.addKeySlot": "\(slot(facts)) added"
    case "agent.removeKeySlot": "\(slot(facts)) removed"
    case "agent.rotateRootKey": "root key rotated" + (fact(facts, "keyEpoch").map { ", key epoch \($0)" } ?? "")
    case "agent.acceptOldStore": "old copy of the store accepted: every account signed out"
    case "agent.backup": backup(facts)
    case "agent.restore": facts?["provider"] == nil ? "backup restored" : "restored from a backup, at \(provider)"
    case "revocation.confirmed": "token revoked at \(issuer)"
    case "revocation.abandoned": "revocation at \(issuer) abandoned\(reason)"
    case "stepUp.enroll": facts?["new"]?.bool == false ? "PIN changed" : "PIN set"
    case "stepUp.verify": stepUpVerified(facts)
    case "stepUp.unenroll": "PIN removed"
    case "stepUp.clear": "step-up ended"
    case "grant.create": "grant \(fact(facts, "grant") ?? "") created for \(fact(facts, "grantee") ?? "a program")"
    case "grant.revoke": "grant \(fact(facts, "grant") ?? "") of \(fact(facts, "grantee") ?? "a program") revoked"
    case "approval.requested": "waits for a person: \(approvable(facts))"
    case "approval.decide": "verdict about \(approvable(facts))"
    case "approval.decided": "no verdict about \(approvable(facts))"
    case "access.request": "\(fact(facts, "grantee") ?? "a program") asked for more than its grant has"
    case "access.decide": "verdict about what \(fact(facts, "grantee") ?? "a program") asked for"
    case "exec.begin": "tokens given to the command \(fact(facts, "program") ?? "")"
    case "rule.add": "rule added: answers for \(fact(facts, "pattern") ?? "")"
    case "rule.remove": "rule \(fact(facts, "rule") ?? "") removed"
    default: nil
    }
  }

  /// A request that waits for a person.
  private static func approvable(_ facts: JSONNode?) -> String {
    let request = "\(fact(facts, "method") ?? "a request") to \(fact(facts, "origin") ?? "a server")"
    return "\(request) by \(fact(facts, "capability") ?? "?") for \(fact(facts, "grantee") ?? "a program")"
  }

  private static func slot(_ facts: JSONNode?) -> String {
    let protection = fact(facts, "protection").map { Protection(name: $0)?.displayName ?? $0 } ?? "unknown"
    return "key slot \(fact(facts, "slot") ?? "?") (\(protection))"
  }

  private static func backup(_ facts: JSONNode?) -> String {
    let tokens = facts?["includesRefreshTokens"]?.bool == true ? " with refresh tokens" : ""
    return "backup written\(tokens), accounts: \(fact(facts, "accounts") ?? "?")"
  }

  private static func policySet(_ facts: JSONNode?) -> String {
    let version = fact(facts, "policyVersion").map { ", version \($0)" } ?? ""
    return "policy \(fact(facts, "policy") ?? "") set\(version)"
  }

  private static func bundleRefused(_ facts: JSONNode?) -> String {
    let version = fact(facts, "bundleVersion").map { " of version \($0)" } ?? ""
    return "policy bundle\(version) refused: \(Text.words(fact(facts, "reason") ?? "unknown"))"
  }

  /// What a policy on trial would have decided, and what was decided.
  private static func shadow(_ outcome: String, _ facts: JSONNode?) -> String {
    let what = fact(facts, "capability") ?? fact(facts, "origin") ?? "something"
    let policy = "\(fact(facts, "policy") ?? ""), version \(fact(facts, "policyVersion") ?? "unknown")"
    let reason = fact(facts, "reason").map { " (\(Text.words($0)))" } ?? ""
    let counted = fact(facts, "decidedReason").map { " (\(Text.words($0)))" } ?? ""
    return "on trial, \(what): \(outcome)\(reason) by the policy \(policy); "
      + "\(fact(facts, "decided") ?? "unknown")\(counted) counted"
  }

  private static func stateChanged(_ facts: JSONNode?) -> String {
    let before = fact(facts, "previous").map { ", was: \(AccountInfo.words(ofState: $0))" } ?? ""
    return "session: \(fact(facts, "state").map(AccountInfo.words) ?? "unknown")\(before)"
  }

  private static func stepUpVerified(_ facts: JSONNode?) -> String {
    guard let capability = fact(facts, "capability") else {
      return "PIN checked" + (attempts(facts).map { ", \($0)" } ?? "")
    }
    let grantee = fact(facts, "grantee").map { " for \($0)" } ?? ""
    return
      "confirmed in the prompt: \(capability)\(grantee), \(fact(facts, "method") ?? "") \(fact(facts, "origin") ?? "")"
  }

  private static func attempts(_ facts: JSONNode?) -> String? {
    fact(facts, "attemptsLeft").map { "\($0) \($0 == "1" ? "try" : "tries") left" }
  }

  /// An event that only a newer agent knows: its name and its facts.
  private static func known(_ event: String, _ facts: JSONNode?) -> String {
    guard let facts, !facts.displayText.isEmpty else { return event }
    return "\(event) (\(facts.displayText))"
  }
}
