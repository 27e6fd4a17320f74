internal import AgentCore
internal import AgentModel
internal import AgentOAuth
internal import AgentPorts
internal import Secrets

/// Performs what `RequestMachine` decides for one request of a caller (docs/tokens.md, Requests).
///
/// It runs in the caller's task and not on the account's actor: one account's requests run at the same time, and a
/// caller that goes away closes the connection. The exchange that replaces a refused token is the account's own.
package struct RequestSender: Sendable {
  /// The contract's bound for a response's body.
  package static let maximumResponseBytes = 4 << 20
  /// How long a response may take if the request names no time. Long enough for a slow report.
  static let longestResponse = Milliseconds.seconds(60)
  private static let hidingFields: Set<String> = ["accept-charset", "accept-encoding", "if-range", "range"]
  private static let longestConnect = Milliseconds.seconds(10)

  private let account: Account
  private let request: ResourceRequest
  /// Throws if the caller may not send any more.
  private let requireAllowed: @Sendable () throws(AgentFailure) -> Void
  private let deadline: BootInstant?

  private var dependencies: AccountDependencies { account.dependencies }
  private var clock: any AgentClock { dependencies.environment.clock }

  /// - Parameter requireAllowed: asked before each request: the caller's grant may have ended meanwhile.
  package init(
    _ request: ResourceRequest, of account: Account, requireAllowed: @escaping @Sendable () throws(AgentFailure) -> Void
  ) {
    self.account = account
    self.request = request
    self.requireAllowed = requireAllowed
    deadline = request.timeout.map { account.dependencies.environment.clock.boot() + $0 }
  }

  package func send() async throws(AgentFailure) -> ResourceResponse {
    var machine: RequestMachine
    var token: RequestToken
    /// The provider, as long as nothing was awaited since it was read.
    var fresh: Provider?
    do throws(AgentFailure) {
      let provider = try await provider()
      let target = try target(at: request.url, of: provider)
      machine = RequestMachine(
        method: request.method, target: target, hasKey: request.hasIdempotencyKey,
        allowsAuthRetry: request.allowsAuthRetry)
      if let cached = cachedToken() {
        (token, fresh) = (cached, provider)
      } else {
        token = try await self.token(.usable(minimumLifetime: .zero))
      }
    } catch {
      throw .stopped(error, nil, hasKey: request.hasIdempotencyKey)
    }
    var nonce: String?
    var refused: RequestToken?
    while true {
      let (response, fields) = try await response(to: &machine, token, &nonce, by: fresh)
      fresh = nil
      let repeatsToken = !request.showsToken && [token, refused].contains { $0.map(response.repeats) ?? false }
      var action = machine.answered(
        RequestMachine.Response(response, tellsNonce: nonce != nil), fingerprint: token.fingerprint)
      if case .replaceToken(let fingerprint) = action {
        refused = token
        do throws(AgentFailure) {
          token = try await self.token(.replacing(fingerprint: fingerprint))
        } catch {
          throw .stopped(error, machine, hasKey: request.hasIdempotencyKey)
        }
        action = machine.replaced(by: token.fingerprint)
      }
      switch action {
      case .send: continue
      case .interact where repeatsToken: throw failure(.tokenRepeated, machine)
      case .interact(let demand): throw .challenged(demand, account.id)
      case .answer, .replaceToken:
        return ResourceResponse(
          status: response.status, fields: fields, body: response.body, share: response.share,
          attempts: machine.attempts, isRefreshed: machine.isRefreshed, repeatsToken: repeatsToken)
      }
    }
  }

  /// The standard token, if the caller may have it and it is in memory.
  private func cachedToken() -> RequestToken? {
    guard request.key == .standard, request.limit == .none else { return nil }
    return dependencies.tokenCache.requestToken(of: account.id, at: clock.boot())
  }

  private func token(_ demand: TokenMachine.Demand) async throws(AgentFailure) -> RequestToken {
    let answer = try await withDeadline(at: deadline, clock: clock) {
      [account, request] () async throws(AgentFailure) in
      try await account.token(request.key, demand, within: request.limit)
    }
    guard let answer else { throw .timedOut(account.id) }
    return RequestToken(answer.token)
  }

  // MARK: one request

  /// The provider as it is now: a person may have changed its origins or its authorities since the last look, have
  /// signed the account out or have locked the vault.
  private func provider() async throws(AgentFailure) -> Provider {
    try await dependencies.vault.resourceProvider(of: account.id)
  }

  private func target(at url: String, of provider: Provider) throws(AgentFailure) -> RequestTarget {
    do throws(RequestTarget.Refusal) {
      return try RequestTarget(url, allowedOrigins: provider.configuration.allowedOrigins)
    } catch {
      switch error {
      case .invalidURL:
        throw .invalidParameter(
          "/url", expected: "an https URL without user information and fragment; http only on a loopback host")
      case .originNotAllowed: throw .originNotAllowed(account.id)
      }
    }
  }

  /// Sends the request once. `nonce`: what the server told last for the proof of a bound token. `fresh`: the provider, if
  /// it is known as it is now.
  private func response(
    to machine: inout RequestMachine, _ token: RequestToken, _ nonce: inout String?, by fresh: Provider?
  ) async throws(AgentFailure) -> (HTTPResponse, ResponseFields) {
    let outgoing: HTTPRequest
    let client: ProviderClient
    let authorization: RequestAuthorization
    let url: HTTPURL
    do throws(AgentFailure) {
      let provider: Provider
      if let fresh { provider = fresh } else { provider = try await self.provider() }
      let target = try target(at: machine.target.url.text, of: provider)
      guard let left = timeLeft() else { throw .timedOut(account.id) }
      if Task.isCancelled { throw .cancelled }
      try requireAllowed()
      url = target.url
      client = dependencies.client(of: provider)
      guard let made = client.proofs.authorization(by: token.credential, for: request.method, url, nonce: nonce) else {
        throw .request(.notSent(reason: "other"), account.id, isRepeatable: true)
      }
      authorization = made
      outgoing = httpRequest(to: target, authorization, by: client, within: left, isRead: machine.isRead)
    } catch {
      throw .stopped(error, machine, hasKey: request.hasIdempotencyKey)
    }
    let outcome = await dependencies.environment.http.send(outgoing)
    if case .notConnected = outcome {} else if case .untrusted = outcome {} else { machine.sent() }
    let failure: RequestFailure
    switch outcome {
    case .response(let response):
      guard (200...599).contains(response.status) else { throw self.failure(.lost(reason: "malformed"), machine) }
      guard let fields = ResponseFields(response.fields) else { throw self.failure(.responseTooLarge, machine) }
      nonce = client.proofs.hearNonce(of: response, from: url, by: token.credential, to: authorization)
      return (response, fields)
    case .notConnected where Task.isCancelled: failure = .cancelled(.notSent)
    case .notConnected(.timedOut) where timeLeft() == nil: failure = .timedOut(.notSent)
    case .notConnected(let reason): failure = .notSent(reason: reason.rawValue)
    case .untrusted(let reason): failure = .untrusted(reason)
    case .unknown(.cancelled, _): failure = .cancelled(.unknown)
    case .unknown(.tooLarge, _): failure = .responseTooLarge
    case .unknown(.timedOut, _) where timeLeft() == nil: failure = .timedOut(.unknown)
    case .unknown(let lost, _): failure = .lost(reason: lost.rawValue)
    }
    throw self.failure(failure, machine)
  }

  /// Nil once the request's time has run out.
  private func timeLeft() -> Milliseconds? {
    guard let deadline else { return Self.longestResponse }
    let left = deadline - clock.boot()
    return left > .zero ? left : nil
  }

  private func httpRequest(
    to target: RequestTarget, _ authorization: RequestAuthorization, by client: ProviderClient,
    within left: Milliseconds, isRead: Bool
  ) -> HTTPRequest {
    // What a caller without the token gets is searched for it: whole, and decoded by the agent.
    let told = request.fields.all.filter { request.showsToken || !Self.hidingFields.contains($0.name.lowercased()) }
    let fields = told.map { HTTPField($0.name, $0.value) } + authorization.fields
    var outgoing = client.request(request.method, target.url.text, fields: fields, body: request.body)
    outgoing.timeout = left
    outgoing.beforeSending = request.beforeSending
    outgoing.connectTimeout = min(left, Self.longestConnect)
    outgoing.maximumResponseBytes = Self.maximumResponseBytes
    // The answer to an operation is not kept whole, and is not to be lost for want of memory.
    outgoing.memory = request.beforeSending == nil ? dependencies.environment.answers : nil
    outgoing.isForLimitedCaller = request.isOfLimitedCaller
    // Also with an idempotency key: Q2 counts each time that a write is sent.
    outgoing.reuse = ConnectionReuse(user: account.id.text, isRepeatable: isRead && !authorization.hasProof)
    return outgoing
  }

  /// A read, and a write with an idempotency key, may be repeated also if it was performed.
  private func failure(_ failure: RequestFailure, _ machine: RequestMachine) -> AgentFailure {
    let isRepeatable = machine.isRead || request.hasIdempotencyKey
    let failed = AgentFailure.request(failure, account.id, isRepeatable: isRepeatable)
    guard failure.outcome == .notSent, machine.mayBePerformed, !machine.isRead else { return failed }
    return .sentBefore(failed, isRepeatable: isRepeatable)
  }
}

extension HTTPResponse {
  /// The token stands in its body, or in one of its fields.
  fileprivate func repeats(_ token: RequestToken) -> Bool {
    token.credential.token.withBytes { token in
      body.withBytes { RepeatedToken.occurs(token, in: $0) }
        || fields.contains { field in
          [field.name, field.value].contains { text in
            Array(text.utf8).withUnsafeBytes { RepeatedToken.occurs(token, in: $0) }
          }
        }
    }
  }
}

extension RequestMachine.Response {
  fileprivate init(_ response: HTTPResponse, tellsNonce: Bool) {
    self.init(
      status: response.status, location: response.field("Location"), challenges: response.challenges,
      tellsNonce: tellsNonce)
  }
}
