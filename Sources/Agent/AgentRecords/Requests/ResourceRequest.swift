package import AgentCore
package import AgentModel
package import AgentPorts
package import Secrets

/// A request of a caller to a resource server, with an access token that the agent adds.
package struct ResourceRequest: Sendable {
  package var method: String
  package var url: String
  package var fields: RequestFields
  package var body: Secret?
  package var hasIdempotencyKey: Bool
  package var allowsAuthRetry: Bool
  /// The token that the caller may ask for.
  package var key: TokenKey
  /// What the token may have.
  package var limit: TokenLimit
  /// The time for all of it, with the wait for a token; nil: each request may take `RequestSender.longestResponse`.
  package var timeout: Milliseconds?
  /// False for a caller that could not ask for the token: it gets no response that repeats it.
  package var showsToken = true
  /// The accounts whose tokens such a caller must not see either; nil: all of them.
  package var reach: Set<AccountID>?
  /// The caller presented a grant: its answers take at most half of the memory for all.
  package var isOfLimitedCaller = false
  /// Asked once the connection stands, before the first byte of each request leaves; if it says no, nothing is sent.
  package var beforeSending: (@Sendable () async -> Bool)?
  /// A queued operation, which is sent again later.
  package var isOfOperation: Bool { beforeSending != nil }

  package init(
    method: String, url: String, fields: RequestFields, body: Secret?, hasIdempotencyKey: Bool, allowsAuthRetry: Bool,
    key: TokenKey, limit: TokenLimit, timeout: Milliseconds?
  ) {
    self.method = method
    self.url = url
    self.fields = fields
    self.body = body
    self.hasIdempotencyKey = hasIdempotencyKey
    self.allowsAuthRetry = allowsAuthRetry
    self.key = key
    self.limit = limit
    self.timeout = timeout
  }
}

/// The response of a resource server.
package struct ResourceResponse: Sendable {
  package var status: Int
  package var fields: ResponseFields
  package var body: Secret
  /// Of the memory of all answers: kept until the answer is delivered. Nil for a small one.
  package var share: MemoryBudget.Share?
  package var attempts: Int
  package var isRefreshed: Bool

  package init(
    status: Int,
    fields: ResponseFields,
    body: Secret,
    share: MemoryBudget.Share? = nil,
    attempts: Int,
    isRefreshed: Bool,
    repeatsToken: Bool = false
  ) {
    self.status = status
    self.fields = fields
    self.body = body
    self.share = share
    self.attempts = attempts
    self.isRefreshed = isRefreshed
    self.repeatsToken = repeatsToken
  }

  /// It repeats the token, and the request does not show that.
  package var repeatsToken = false
}
