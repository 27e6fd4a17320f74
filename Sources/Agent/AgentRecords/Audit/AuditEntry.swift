internal import AgentCore
package import AgentModel
package import AgentVault
internal import JSONRPC
internal import SecretJSON
internal import Secrets

/// One line of the audit log. It names accounts by their ids and no person; `Fact` lists its possible facts.
package struct AuditEntry: Sendable {
  /// The recorded action: a method of the contract, or an event.
  package enum Event: String, Sendable {
    case decision = "authorization.check"
    /// A token for one request was asked for, or a request was to be sent that the policy or an AI agent's grant decides
    /// about.
    case requestAuthorize = "request.authorize", requestSend = "request.send"
    /// A proxy let a program through without a token, or was to.
    case requestPass = "request.pass"
    case signIn, accountSignOut = "account.signOut", accountForget = "account.forget"
    /// A secret was added, or took the place of the account's.
    case accountAdd = "account.add", accountReplace = "account.replace"
    case accountSwitch = "account.switch", accountRename = "account.rename"
    case providerAdd = "provider.add", providerUpdate = "provider.update", providerRemove = "provider.remove"
    case policySet = "policy.set"
    /// A bundle of the policy source came into force, or was offered and refused.
    case policyBundleAccept = "policyBundle.accept", policyBundleRefuse = "policyBundle.refuse"
    /// A policy on trial would have decided otherwise.
    case policyShadow = "policy.shadow"
    case sessionStateChanged = "session.stateChanged"
    /// The provider gave a bearer token to an account with a key, or a bound one again.
    case sessionTokenBinding = "session.tokenBinding"
    case agentInitialize = "agent.initialize", agentUnlock = "agent.unlock", agentLock = "agent.lock"
    case agentAddKeySlot = "agent.addKeySlot", agentRemoveKeySlot = "agent.removeKeySlot"
    case agentRotateRootKey = "agent.rotateRootKey", agentAcceptOldStore = "agent.acceptOldStore"
    case agentBackup = "agent.backup", agentRestore = "agent.restore"
    case revocationConfirmed = "revocation.confirmed", revocationAbandoned = "revocation.abandoned"
    case stepUpEnroll = "stepUp.enroll", stepUpVerify = "stepUp.verify", stepUpUnenroll = "stepUp.unenroll"
    case stepUpClear = "stepUp.clear"
    case grantCreate = "grant.create", grantRevoke = "grant.revoke"
    /// A request waits for a person, gets a verdict, or its wait ended without one.
    case approvalRequested = "approval.requested", approvalDecide = "approval.decide"
    case approvalDecided = "approval.decided"
    /// A program asked for more than its grant has; a person decided.
    case accessRequest = "access.request", accessDecide = "access.decide"
    /// A program is given credentials in its environment or in a file.
    case execBegin = "exec.begin"
    case ruleAdd = "rule.add", ruleRemove = "rule.remove"
    /// Repeats of decisions may be missing before it.
    case auditGap = "audit.gap"

    var ring: AuditRing {
      switch self {
      case .decision, .requestAuthorize, .requestSend, .requestPass, .policyShadow, .approvalRequested,
        .approvalDecided,
        .accessRequest:
        .decisions
      default: .security
      }
    }

    /// True for a change that can wait. What takes something away, and what has happened already, is never refused.
    var isRefusable: Bool {
      switch self {
      case .accountSwitch, .accountRename, .providerAdd, .providerUpdate, .providerRemove, .policySet, .stepUpEnroll,
        .grantCreate, .ruleAdd, .execBegin, .accessDecide:
        true
      default: false
      }
    }
  }

  /// A fact of an entry: a value of the contract, a name that an administrator chose, or a number.
  package enum Fact: Sendable {
    case provider(ProviderName)
    case policy(String)
    case policyVersion(Int64)
    case bundleVersion(Int64)
    /// The effect that counted, and its reason.
    case decided(String)
    case decidedReason(String)
    case snapshotVersion(Int64)
    case decision(String)
    case capability(String)
    case reason(String)
    case mode(String)
    case state(String)
    case previousState(String)
    case isNew(Bool)
    case attemptsLeft(Int64)
    case issuer(String)
    case slot(Int64)
    case protection(String)
    case keyEpoch(Int64)
    case grant(String)
    case grantee(String)
    case program(String)
    case rule(String)
    case pattern(String)
    case origin(String)
    case method(String)
    /// All that went both ways, and what of it went to the server.
    case bytes(Int64)
    case sentBytes(Int64)
    case accounts(Int64)
    case includesRefreshTokens(Bool)

    func write(to writer: inout JSONWriter) {
      switch self {
      case .provider(let name): writer.member("provider", name.text)
      case .policy(let name): writer.member("policy", name)
      case .policyVersion(let version): writer.member("policyVersion", version)
      case .bundleVersion(let version): writer.member("bundleVersion", version)
      case .decided(let effect): writer.member("decided", effect)
      case .decidedReason(let reason): writer.member("decidedReason", reason)
      case .snapshotVersion(let version): writer.member("snapshotVersion", version)
      case .decision(let id): writer.member("decisionId", id)
      case .capability(let name): writer.member("capability", name)
      case .reason(let reason): writer.member("reason", reason)
      case .mode(let mode): writer.member("mode", mode)
      case .state(let state): writer.member("state", state)
      case .previousState(let state): writer.member("previous", state)
      case .isNew(let isNew):
        writer.key("new")
        writer.bool(isNew)
      case .attemptsLeft(let count): writer.member("attemptsLeft", count)
      case .issuer(let issuer): writer.member("issuer", issuer)
      case .slot(let number): writer.member("slot", number)
      case .protection(let protection): writer.member("protection", protection)
      case .keyEpoch(let epoch): writer.member("keyEpoch", epoch)
      case .grant(let id): writer.member("grant", id)
      case .grantee(let client): writer.member("grantee", client)
      case .program(let name): writer.member("program", name)
      case .rule(let id): writer.member("rule", id)
      case .pattern(let text): writer.member("pattern", text)
      case .origin(let origin): writer.member("origin", origin)
      case .method(let method): writer.member("method", method)
      case .bytes(let count): writer.member("bytes", count)
      case .sentBytes(let count): writer.member("sentBytes", count)
      case .accounts(let count): writer.member("accounts", count)
      case .includesRefreshTokens(let included):
        writer.key("includesRefreshTokens")
        writer.bool(included)
      }
    }
  }

  package var at: Timestamp
  var event: Event
  /// `ok`, the name of an error, or the effect of a decision.
  var outcome = "ok"
  var account: AccountID?
  /// The client's own name for itself; the agent does not verify it.
  var client: String?
  var facts: [Fact] = []
  /// True for a decision whose repeats need no commit of their own.
  package var isBatched = false

  /// Whose quota the entry takes (`AuditQuota`); empty for the agent itself.
  package var clients = Caller.current?.quotas ?? []

  package init(
    at: Timestamp, event: Event, outcome: String = "ok", account: AccountID? = nil, client: String? = nil,
    facts: [Fact] = [], isBatched: Bool = false
  ) {
    self.at = at
    self.event = event
    self.account = account
    self.outcome = outcome
    self.client = client
    self.facts = facts
    self.isBatched = isBatched
  }

  /// The entry for the log.
  package var append: AuditAppend {
    AuditAppend(
      ring: event.ring, at: at, account: account?.text, sameness: sameness, name: decision ?? "",
      coalesces: event.ring == .decisions, clients: clients, isRefusable: event.isRefusable,
      record: { repeats in record(repeats) })
  }

  private var decision: String? {
    for case .decision(let id) in facts { return id }
    return nil
  }

  /// What repeats have in common: all but the time and a decision's id.
  private var sameness: [UInt8] {
    var entry = self
    entry.at = Timestamp(milliseconds: 0)
    entry.facts.removeAll { if case .decision = $0 { true } else { false } }
    return entry.record(nil).withBytes { Array($0) }
  }

  private func record(_ repeats: AuditRepeats?) -> Secret {
    SecretJSON.write { writer in
      writer.member("at", at.milliseconds)
      writer.member("event", event.rawValue)
      writer.member("outcome", outcome)
      writer.member("account", account?.text)
      writer.member("client", client)
      if let repeats, repeats.count > 1 {
        writer.member("count", repeats.count)
        writer.member("firstAt", repeats.firstAt.milliseconds)
        writer.member("lastAt", repeats.lastAt.milliseconds)
      }
      guard !facts.isEmpty else { return }
      writer.key("facts")
      writer.beginObject()
      for fact in facts { fact.write(to: &writer) }
      writer.endObject()
    }
  }
}
