internal import AgentCore
internal import AgentModel
internal import AgentOAuth
internal import AgentPermissions
package import AgentPorts
package import AgentRecords
package import AgentSessions
package import AgentStore
internal import Secrets

/// Performs what `RequestMachine` decides for one request of a caller (docs/requests.md).
///
/// It does not run on the account's actor: one account's requests run at the same time, and a caller that goes away
/// closes the connection. The exchange that replaces a refused token is the account's own.
package final class RequestSender: Sendable {
  /// A request or a response with a longer body is copied by a task, so that no other client waits for it.
  package static let shortBodyBytes = 16 << 10

  private let account: Account
  private let request: ResourceRequest
  private let sendings: RequestSendings
  private let judge: RequestJudge

  private var dependencies: AccountDependencies { account.dependencies }
  private var clock: any AgentClock { dependencies.environment.clock }

  /// The state between two sendings.
  private struct Progress {
    var machine: RequestMachine
    var judged: JudgedTarget
    var token: RequestToken
    /// What the server told last for the proof of a bound token.
    var nonce: String?
    /// The token that the server refused.
    var refused: RequestToken?
    /// The server refused the last sending: it performed nothing.
    var refusal: ResourceResponse?
  }

  /// - Parameters:
  ///   - judge: decides about each target.
  ///   - requireAllowed: asked before each request: the caller's grant may have ended meanwhile.
  package init(
    _ request: ResourceRequest, of account: Account, judge: RequestJudge,
    requireAllowed: @escaping @Sendable () throws(AgentFailure) -> Void
  ) {
    self.account = account
    self.judge = judge
    self.request = request
    let deadline = request.timeout.map { account.dependencies.environment.clock.boot() + $0 }
    sendings = RequestSendings(request, of: account, deadline: deadline, requireAllowed: requireAllowed)
  }

  package func send() async throws(AgentFailure) -> ResourceResponse {
    var progress: Progress
    /// The route, as long as nothing was awaited since it was read.
    var fresh: RequestRoutes.Route?
    do throws(AgentFailure) {
      let route = try await route()
      let machine = try machine(by: route)
      let question = question(machine, at: route.provider.configuration.name)
      var judged = judge.permit.map { JudgedTarget(question, $0) } ?? JudgedTarget()
      // Before the token: what is denied costs the provider nothing.
      let hasWaited = try await isJudged(question, &judged)
      if let cached = cachedToken() {
        progress = Progress(machine: machine, judged: judged, token: cached)
        fresh = hasWaited ? nil : route
      } else {
        progress = Progress(
          machine: machine, judged: judged, token: try await self.token(.usable(minimumLifetime: .zero)))
      }
    } catch {
      throw sendings.stopped(error, nil)
    }
    return try await send(&progress, by: fresh)
  }

  /// Sends the request without a task, if all that it needs is in memory, and calls `ended` once. Returns false if not:
  /// then nothing happened, and `send` serves the request.
  package func begin(
    _ cancellation: Cancellation, ended: @escaping @Sendable (Course<ResourceResponse, AgentFailure>) -> Void
  ) -> Bool {
    // A proof is signed where no other client waits for it.
    guard let token = cachedToken(), token.credential.key == nil, (request.body?.count ?? 0) <= Self.shortBodyBytes,
      let route = judge.decisions.routes.route(of: account.id), let machine = try? machine(by: route),
      !judge.isNeeded(machine.target.url, at: route.provider.configuration.name), dependencies.tokenCache.isOpen,
      let sending = try? sendings.make(machine, token, nonce: nil, by: route)
    else { return false }
    let progress = Progress(machine: machine, judged: JudgedTarget(), token: token)
    return dependencies.environment.http.begin(sending.request, cancellation) { [self] outcome in
      ended(course(after: outcome, of: sending, progress, isCancelled: cancellation.isCancelled))
    }
  }

  private func course(
    after outcome: HTTPOutcome, of sending: RequestSendings.Sending, _ progress: Progress, isCancelled: Bool
  ) -> Course<ResourceResponse, AgentFailure> {
    var progress = progress
    do throws(AgentFailure) {
      let received = try sendings.judge(outcome, of: sending, &progress.machine, isCancelled: isCancelled)
      let action = follow(received, &progress)
      if case .answer = action, received.response.body.count <= Self.shortBodyBytes {
        return .ended(.success(response(received, progress)))
      }
      let isRefused = received.response.status == 401
      let otherwise = isRefused ? .shuttingDown : sendings.stopped(.shuttingDown, progress.machine)
      return .goesOn(otherwise: otherwise) { [self, progress] () async throws(AgentFailure) in
        var progress = progress
        if let response = try await perform(action, after: received, &progress) { return response }
        return try await send(&progress, by: nil)
      }
    } catch {
      return .ended(.failure(error))
    }
  }

  // MARK: steps

  private func send(
    _ progress: inout Progress, by fresh: RequestRoutes.Route?
  ) async throws(AgentFailure) -> ResourceResponse {
    var fresh = fresh
    while true {
      let sending: RequestSendings.Sending
      do throws(AgentFailure) {
        var route: RequestRoutes.Route
        if let fresh { route = fresh } else { route = try await self.route() }
        fresh = nil
        let question = question(progress.machine, at: route.provider.configuration.name)
        if try await isJudged(question, &progress.judged) { route = try await self.route() }
        if Task.isCancelled { throw .cancelled }
        sending = try sendings.make(progress.machine, progress.token, nonce: progress.nonce, by: route)
      } catch {
        return try ended(by: error, progress)
      }
      let outcome = await dependencies.environment.http.send(sending.request)
      let received = try sendings.judge(outcome, of: sending, &progress.machine, isCancelled: Task.isCancelled)
      let action = follow(received, &progress)
      if let response = try await perform(action, after: received, &progress) { return response }
    }
  }

  private func follow(_ received: RequestSendings.Received, _ progress: inout Progress) -> RequestMachine.Action {
    progress.nonce = received.nonce
    return progress.machine.answered(
      RequestMachine.Response(received.response, tellsNonce: received.nonce != nil),
      fingerprint: progress.token.fingerprint)
  }

  /// The response for the caller; nil if the request is to be sent again.
  private func perform(
    _ action: RequestMachine.Action, after received: RequestSendings.Received, _ progress: inout Progress
  ) async throws(AgentFailure) -> ResourceResponse? {
    let answered = response(received, progress)
    progress.refusal = answered.status == 401 ? answered : nil
    var action = action
    if case .replaceToken(let fingerprint) = action {
      progress.refused = progress.token
      do throws(AgentFailure) {
        progress.token = try await token(.replacing(fingerprint: fingerprint))
      } catch {
        return try ended(by: error, progress)
      }
      action = progress.machine.replaced(by: progress.token.fingerprint)
    }
    switch action {
    case .send: return nil
    case .interact where answered.repeatsToken: throw sendings.failure(.tokenRepeated, progress.machine)
    case .interact(let demand):
      dependencies.demands.note(demand, of: account.id)
      throw .challenged(demand, account.id)
    case .answer, .replaceToken:
      var answered = answered
      answered.isRefreshed = progress.machine.isRefreshed
      return answered
    }
  }

  /// The end of a request that would have been sent again. A write that the server refused is answered with the refusal,
  /// since nothing was performed. The caller of a read, which has no outcome to tell, wants to know what is in the way; a
  /// queued operation waits until that is gone.
  private func ended(by failure: AgentFailure, _ progress: Progress) throws(AgentFailure) -> ResourceResponse {
    guard var refusal = progress.refusal else { throw sendings.stopped(failure, progress.machine) }
    // A secret that the provider refuses too is no server's mistake.
    if case .token(.reauthenticate(reason: TokenMachine.secretRefused), _) = failure { throw failure }
    guard !progress.machine.isRead, !request.isOfOperation else { throw failure }
    guard !refusal.repeatsToken else { throw sendings.failure(.tokenRepeated, progress.machine) }
    refusal.isRefreshed = progress.machine.isRefreshed
    return refusal
  }

  private func response(_ received: RequestSendings.Received, _ progress: Progress) -> ResourceResponse {
    let response = received.response
    let repeatsToken = !request.showsToken && response.repeats(oneOf: sought(progress))
    return ResourceResponse(
      status: response.status, fields: received.fields, body: response.body, share: response.share,
      attempts: progress.machine.attempts, isRefreshed: progress.machine.isRefreshed, repeatsToken: repeatsToken)
  }

  /// The tokens that the caller must not see.
  private func sought(_ progress: Progress) -> [Secret] {
    [progress.token, progress.refused].compactMap { $0?.credential.token }
      + dependencies.validTokens.tokens(of: request.reach, and: account.id, at: clock.boot())
  }

  private func machine(by route: RequestRoutes.Route) throws(AgentFailure) -> RequestMachine {
    RequestMachine(
      method: request.method, target: try sendings.target(by: route),
      hasKey: request.hasIdempotencyKey, allowsAuthRetry: request.allowsAuthRetry,
      followsRedirects: route.placement?.isInURL != true, hasSignIn: route.provider.configuration.kind.hasSignIn)
  }

  /// The provider as it is now: a person may have changed its origins or its authorities since the last look, have
  /// signed the account out or have locked the vault.
  private func route() async throws(AgentFailure) -> RequestRoutes.Route {
    try await judge.decisions.route(of: account)
  }

  /// True if something was awaited.
  private func isJudged(
    _ question: RequestQuestion, _ judged: inout JudgedTarget
  ) async throws(AgentFailure) -> Bool {
    if try await judged.judge(question, by: judge, until: sendings.deadline) { return true }
    // A locked vault has no policies, which is not the same as a policy that names nothing.
    guard dependencies.tokenCache.isOpen else { throw .locked }
    return false
  }

  private func question(_ machine: RequestMachine, at provider: ProviderName) -> RequestQuestion {
    judge.question(request, machine.target.url, of: account.id, at: provider)
  }

  // MARK: tokens

  /// The standard token, if the caller may have it and it is in memory.
  private func cachedToken() -> RequestToken? {
    guard request.key == .standard, request.limit == .none else { return nil }
    return dependencies.tokenCache.requestToken(of: account.id, at: clock.boot())
  }

  private func token(_ demand: TokenMachine.Demand) async throws(AgentFailure) -> RequestToken {
    let answer = try await withDeadline(at: sendings.deadline, clock: clock) {
      [account, request] () async throws(AgentFailure) in
      try await account.token(
        request.key, demand, within: request.limit,
        patience: request.timeout == nil && !request.isOfOperation ? TokenMachine.callersPatience : nil)
    }
    guard let answer else { throw .timedOut(account.id) }
    return RequestToken(answer.token)
  }
}

extension HTTPResponse {
  /// One of the tokens stands in its body, or in one of its fields.
  fileprivate func repeats(oneOf tokens: [Secret]) -> Bool {
    var lent: [UnsafeRawBufferPointer] = []
    // The memory of each is lent for the time of a call.
    func isFound(from index: Int) -> Bool {
      guard index < tokens.count else { return hasOne(of: RepeatedToken(lent)) }
      return tokens[index].withBytes { bytes in
        lent.append(bytes)
        return isFound(from: index + 1)
      }
    }
    return isFound(from: 0)
  }

  private func hasOne(of search: RepeatedToken) -> Bool {
    body.withBytes { search.occurs(in: $0) }
      || fields.contains { field in
        [field.name, field.value].contains { text in Array(text.utf8).withUnsafeBytes { search.occurs(in: $0) } }
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
