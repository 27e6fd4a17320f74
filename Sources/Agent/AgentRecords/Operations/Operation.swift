package import AgentCore
package import AgentModel
package import AgentStore
package import AgentVault
internal import JSONRPC
internal import SecretJSON
internal import Secrets

extension DeclaredKind {
  /// A queued operation, its content, and the answer to its request.
  package static let operation = DeclaredKind(35, under: .data)
  package static let operationContent = DeclaredKind(36, under: .data)
  package static let operationAnswer = DeclaredKind(37, under: .data)
}

/// A queued operation as it is stored, without its content and its answer, which have records of their own: a change
/// of its status writes little. Its moments are of its provider's timeline.
package struct Operation: Sendable {
  package let id: [UInt8]
  package let account: AccountID
  /// The order of the account's operations.
  let sequence: Int64
  package var machine: OperationMachine
  package let capability: String
  package let label: String?
  package let idempotencyKey: String
  /// Of everything that the client asked for, to tell a repeated request from another one with the same key.
  let digest: [UInt8]
  let enqueuedAt: Timestamp
  package var updatedAt: Timestamp
  /// As the client told it.
  package let expiresAt: Timestamp?
  /// The token that its client could ask for.
  package let key: TokenKey
  package let limit: TokenLimit
  /// Who enqueued it.
  package let caller: OperationCaller
  /// For whom its request is decided about, also after the grant has ended.
  package let requester: RequestCaller
  /// The capabilities for which a person approved its request.
  package var approved: Set<String> = []
  /// The epoch of the account's sign-in in which it was enqueued.
  let epoch: UInt64
  /// The last decision about it.
  package var decision: RecordedDecision
  package var lastError: LastFailure?
  var hasAnswer = false
  /// What the client told when it settled it, as JSON.
  package var detail: [UInt8]?
  /// The claim that settled it.
  package var settledBy: OperationMachine.Claim?
  /// Of content and answer.
  package var bytes: Int

  /// The id on the wire.
  package let name: String

  /// `enqueued`: all that a client decides.
  init(
    id: [UInt8], account: AccountID, sequence: Int64, _ enqueued: EnqueuedOperation, decision: RecordedDecision,
    epoch: UInt64, key idempotencyKey: String, at now: Timestamp, expiresAt: Timestamp?, bytes: Int
  ) {
    self.id = id
    name = OperationName.text(id)
    self.account = account
    self.sequence = sequence
    let request = enqueued.content.request
    machine = OperationMachine(
      request == nil ? .client : .agent, isRead: request?.isRead ?? false, retryWithin: enqueued.retryWithin,
      expiresAt: expiresAt)
    capability = enqueued.capability
    label = enqueued.label
    self.idempotencyKey = idempotencyKey
    digest = enqueued.digest
    (enqueuedAt, updatedAt) = (now, now)
    self.expiresAt = expiresAt
    (key, limit, caller) = (enqueued.key, enqueued.limit, enqueued.caller)
    (requester, approved) = (enqueued.requester, enqueued.approved)
    self.epoch = epoch
    self.decision = decision
    self.bytes = bytes
  }

  /// What stays of it after its account was erased: that it was there, and nothing of its content, its label or its key.
  func erased(at now: Timestamp) -> Operation? {
    var erased = withoutContent
    guard !erased.machine.orphaned().isEmpty else { return nil }
    erased.updatedAt = now
    return erased
  }

  /// The next attempt has an answer of its own.
  package mutating func forgetAnswer() {
    (hasAnswer, detail, settledBy) = (false, nil, nil)
  }

  /// Nothing of its content, its label and its key.
  var withoutContent: Operation { Operation(erasing: self) }

  private init(erasing operation: Operation) {
    (id, name, account, sequence) = (operation.id, operation.name, operation.account, operation.sequence)
    (machine, capability, label, idempotencyKey) = (operation.machine, operation.capability, nil, operation.name)
    (digest, enqueuedAt, updatedAt, expiresAt) = ([], operation.enqueuedAt, operation.updatedAt, nil)
    (key, limit, epoch, decision) = (.standard, .none, operation.epoch, operation.decision)
    (caller, requester) = (.owner, .owner)
    bytes = 0
  }
}

extension Operation {
  var record: Secret {
    SecretJSON.write { writer in
      writer.member("account", account.text)
      writer.member("sequence", sequence)
      writer.member("delivery", machine.delivery.rawValue)
      if machine.isRead { writer.member("read", 1) }
      writer.member("retryWithin", machine.retryWithin?.count)
      writer.member("lapsesAt", machine.expiresAt?.milliseconds)
      let (word, wordDetail) = machine.state.words
      writer.member("state", word)
      writer.member("stateDetail", wordDetail)
      writer.member("stateMoment", machine.nextAttemptAt?.milliseconds)
      writer.member("attempts", Int64(machine.attempts))
      writer.member("failures", Int64(machine.failures))
      writer.member("serverErrors", Int64(machine.serverErrors))
      writer.member("firstSentAt", machine.firstSentAt?.milliseconds)
      if machine.isInDoubt { writer.member("inDoubt", 1) }
      writer.member("capability", capability)
      writer.member("label", label)
      writer.member("key", idempotencyKey)
      writer.member("digest", Base64URL.encode(digest))
      writer.member("enqueuedAt", enqueuedAt.milliseconds)
      writer.member("updatedAt", updatedAt.milliseconds)
      writer.member("expiresAt", expiresAt?.milliseconds)
      writer.member("resource", key.resource)
      if let scopes = key.scopes { writer.member("scopes", scopes.names) }
      if let scopes = limit.scopes { writer.member("scopeLimit", scopes.sorted()) }
      if let types = limit.detailTypes { writer.member("detailLimit", types.sorted()) }
      if caller != .owner { writer.member("caller", caller.grants.sorted()) }
      if requester.isForAgent { writer.member("agent", 1) }
      writer.member("grant", requester.grant)
      writer.member("grantee", requester.client)
      if !approved.isEmpty { writer.member("approved", approved.sorted()) }
      writer.member("epoch", Int64(epoch))
      writer.member("lastError", lastError?.kind.rawValue)
      writer.member("lastErrorAt", lastError?.at.milliseconds)
      writer.member("lastErrorReason", lastError?.reason)
      if hasAnswer { writer.member("hasAnswer", 1) }
      if let detail {
        writer.key("detail")
        detail.withUnsafeBytes { writer.raw($0) }
      }
      writer.member("settledBy", settledBy)
      writer.member("bytes", Int64(bytes))
      writer.key("decision")
      decision.write(to: &writer)
    }
  }

  init?(_ plain: Secret, id: [UInt8]) {
    guard let read = SecretJSON.read(plain, { Operation($0, id: id) }) else { return nil }
    self = read
  }

  init?(_ node: JSONNode, id: [UInt8]) {
    guard let account = node["account"]?.string.flatMap({ AccountID($0) }), let sequence = node["sequence"]?.integer,
      let delivery = node["delivery"]?.string.flatMap({ OperationMachine.Delivery(rawValue: $0) }),
      let state = OperationMachine.State(node), let capability = node["capability"]?.string,
      let key = node["key"]?.string, let digest = node["digest"]?.string.flatMap({ Base64URL.decode($0) }),
      let enqueuedAt = node["enqueuedAt"]?.timestamp, let updatedAt = node["updatedAt"]?.timestamp,
      let epoch = node["epoch"]?.integer, let decision = node["decision"].flatMap({ RecordedDecision($0) })
    else { return nil }
    self.id = id
    name = OperationName.text(id)
    (self.account, self.sequence, self.capability, idempotencyKey) = (account, sequence, capability, key)
    (self.digest, self.enqueuedAt, self.updatedAt, self.decision) = (digest, enqueuedAt, updatedAt, decision)
    machine = OperationMachine(
      delivery, isRead: node["read"] != nil, retryWithin: node["retryWithin"]?.integer.map { Milliseconds($0) },
      expiresAt: node["lapsesAt"]?.timestamp)
    machine.restore(
      OperationMachine.Stored(
        state: state, attempts: Int(node["attempts"]?.integer ?? 0), failures: Int(node["failures"]?.integer ?? 0),
        serverErrors: Int(node["serverErrors"]?.integer ?? 0), firstSentAt: node["firstSentAt"]?.timestamp,
        isInDoubt: node["inDoubt"] != nil))
    label = node["label"]?.string
    expiresAt = node["expiresAt"]?.timestamp
    self.key = TokenKey(
      resource: node["resource"]?.string, scopes: node["scopes"]?.strings.map { ScopeSet($0) })
    limit = TokenLimit(
      scopes: node["scopeLimit"]?.strings.map { Set($0) }, detailTypes: node["detailLimit"]?.strings.map { Set($0) })
    caller = OperationCaller(grants: Set(node["caller"]?.strings ?? []))
    requester = RequestCaller(
      isForAgent: node["agent"] != nil, scopes: limit.scopes, grant: node["grant"]?.string,
      client: node["grantee"]?.string)
    approved = Set(node["approved"]?.strings ?? [])
    self.epoch = UInt64(clamping: epoch)
    if let kind = node["lastError"]?.string.flatMap({ FailureKind(rawValue: $0) }),
      let at = node["lastErrorAt"]?.timestamp
    {
      lastError = LastFailure(kind: kind, at: at, reason: node["lastErrorReason"]?.string)
    }
    hasAnswer = node["hasAnswer"] != nil
    detail = node["detail"].map { [UInt8]($0.raw) }
    settledBy = node["settledBy"]?.string
    bytes = Int(node["bytes"]?.integer ?? 0)
  }
}

extension OperationMachine.State {
  fileprivate var words: (String, String?) {
    switch self {
    case .queued: ("queued", nil)
    case .ready: ("ready", nil)
    case .sending: ("sending", nil)
    case .claimed(let claim): ("claimed", claim)
    case .done: ("done", nil)
    case .rejected(let reason): ("rejected", reason.rawValue)
    case .needsInteraction: ("needsInteraction", nil)
    case .unknown(let moment): ("unknown", moment == nil ? nil : "again")
    case .orphaned: ("orphaned", nil)
    case .cancelled: ("cancelled", nil)
    }
  }

  fileprivate init?(_ node: JSONNode) {
    let (detail, moment) = (node["stateDetail"]?.string, node["stateMoment"]?.timestamp)
    switch node["state"]?.string {
    case "queued": self = .queued(notBefore: moment)
    case "ready": self = .ready
    case "sending": self = .sending
    case "claimed": self = .claimed(detail ?? "")
    case "done": self = .done
    case "rejected": self = .rejected(detail.flatMap { .init(rawValue: $0) } ?? .server)
    case "needsInteraction": self = .needsInteraction
    case "unknown": self = .unknown(retryAt: moment)
    case "orphaned": self = .orphaned
    default: return nil
    }
  }
}
