internal import AgentCore
internal import AgentModel
internal import AgentRecords
internal import AgentStore

/// What the policy is asked about one request of an account.
struct RequestQuestion: Sendable {
  var account: AccountID
  var provider: ProviderName
  /// `WebSocketMethod.name` for a WebSocket.
  var method: String
  var hasBody: Bool
  /// The URL as it is sent.
  var url: HTTPURL
  /// `requestAuthorize` or `requestSend`.
  var event: AuditEntry.Event
  var caller: RequestCaller
  /// The capability that the caller named for it, which decides beside those that the policy names.
  var capability: String?
  /// How long a denial may wait for the provider's confirmation.
  var waitSeconds = 0
  /// The person wants it sent, by a caller without a grant: that is their approval, and no step-up.
  var isWantedByPerson = false
  /// What this request has already.
  var rights = GivenTokens.Rights()

  var isRead: Bool { RequestMachine.isRead(method) }

  /// A capability may have it wait for a person.
  var isApprovable: Bool { approvable != nil }

  /// What a person is asked about; nil for a caller without an AI agent's grant.
  var approvable: Approvals.Request? {
    guard caller.isForAgent, let grant = caller.grant else { return nil }
    return Approvals.Request(grant: grant, account: account, method: method, url: url)
  }
}

/// The decision about a request, which is in the audit log where one is wanted there.
enum RequestVerdict: Sendable {
  case allowed(RequestPermit)
  /// A capability does not allow it: this decision. `others`: the decisions about every capability that decides.
  case denied(RecordedDecision, all: [RecordedDecision])
  /// No capability names the request, and the grant is an AI agent's.
  case notCovered
  /// Nothing is missing but a person's approval. Nothing was written or counted.
  case unapproved(Approvals.Wish)
}

/// A request is allowed, as long as nothing changes that it was decided from.
struct RequestPermit: Sendable {
  /// Of the closest capability; nil if none names the request.
  var decision: RecordedDecision?
  /// As `RequestQuestion.rights`, should the request be decided about again.
  var rights = GivenTokens.Rights()
  let ticket: DecisionCache.Ticket
}

extension RequestCaller {
  /// What the audit log says of it.
  var facts: [AuditEntry.Fact] { (grant.map { [.grant($0)] } ?? []) + (client.map { [.grantee($0)] } ?? []) }
}
