internal import AgentCore
internal import AgentModel
internal import AgentOAuth
internal import AgentPorts
internal import AgentRecords
internal import AgentSessions
internal import AgentStore
internal import Secrets

/// The authorization code flow (RFC 6749 §4.1): the browser comes back by itself, or a person brings what it was sent
/// back with. A part of `SignInCoordinator`, to which its functions are isolated.
final class AuthorizationCodeFlow {
  private let dependencies: AccountDependencies
  /// Bytes of the address of the sign-in page: `authorizationUrl` of the schema.
  private static let longestURL = 16_384

  private let admission: SignInAdmission
  private var redirects = RedirectListeners()

  private let providers: SignInProviders

  init(dependencies: AccountDependencies, admission: SignInAdmission, providers: SignInProviders) {
    self.dependencies = dependencies
    self.admission = admission
    self.providers = providers
  }

  // MARK: beginning

  /// The browser's destination, and the way its answer comes back.
  func begin(
    _ id: String, _ flow: SignInFlow, at provider: Provider, scopes: [String], wishes: SignInJob.Wishes,
    boundTo deviceKey: DeviceKey?, of signIns: isolated SignInCoordinator
  ) async throws(AgentFailure) -> (SignInJob.Way, url: String) {
    guard let endpoint = provider.endpoints.authorization.flatMap(HTTPURL.init) else {
      throw .provider(.noAuthorizationEndpoint)
    }
    let redirect = provider.configuration.redirect
    let entropy = dependencies.environment.entropy
    let request: AuthorizationRequest
    let way: SignInJob.Way
    if flow == .paste {
      request = AuthorizationRequest(redirectURI: redirect.unattendedURI(entropy), entropy: entropy)
      way = .paste(request)
    } else {
      do throws(RedirectFailure) {
        let background = dependencies.background
        let uri = try redirects.open(
          redirect, for: id, by: dependencies.environment.redirects,
          onRequest: { listener, query in await Self.redirected(at: listener, query, of: signIns) },
          onRefusal: { listener, refusal in
            background.start { await Self.refused(refusal, at: listener, of: signIns) }
          })
        request = AuthorizationRequest(redirectURI: uri, entropy: entropy)
        way = .browser(request)
      } catch {
        throw AgentFailure(error)
      }
    }
    var parameters = request.parameters(
      of: provider.configuration, scopes: scopes, prompt: wishes.prompt, loginHint: wishes.loginHint,
      details: wishes.details, authentication: wishes.authentication)
    // The code is then of no use without the key, either (RFC 9449 §10).
    if let deviceKey { parameters.append(("dpop_jkt", deviceKey.thumbprint)) }
    do throws(AgentFailure) {
      let pushed = try await Self.push(parameters, boundTo: deviceKey, by: dependencies.client(of: provider))
      let url = endpoint.adding(pushed ?? parameters)
      guard url.utf8.count <= Self.longestURL else {
        let longest =
          wishes.authentication.claims != nil ? "/claims" : wishes.details != nil ? "/authorizationDetails" : "/scopes"
        throw .invalidParameter(longest, expected: "less, so that the page's address has at most 16 KiB")
      }
      return (way, url)
    } catch {
      redirects.leave(id)
      throw error
    }
  }

  /// The sign-in has ended, or was never begun: it takes no answer any more. `state`: that of its request.
  func leave(_ id: String, state: String? = nil) { redirects.leave(id, state: state) }

  // MARK: pushing (RFC 9126)

  /// The parameters that the browser carries instead; nil at a provider that is not told before.
  ///
  /// The agent pushes to every provider that offers it, also where it is not required: parameters in the browser can be
  /// read and changed there. A push that fails ends the sign-in, since otherwise an attacker that disturbs it could
  /// choose the weaker way. Only an endpoint that the provider itself says is not there, and does not require, counts
  /// as not offered.
  private static func push(
    _ parameters: [(String, String)], boundTo deviceKey: DeviceKey?, by client: ProviderClient
  ) async throws(AgentFailure) -> [(String, String)]? {
    let provider = client.provider
    let isRequired = provider.metadata?.requiresPushedAuthorization == true
    guard let endpoint = provider.endpoints.pushedAuthorizationRequest else {
      guard isRequired else { return nil }
      throw .provider(.noPushEndpoint)
    }
    switch await client.push(parameters, to: endpoint, boundTo: deviceKey) {
    case .pushed(let requestURI):
      // RFC 9126 §4: all the rest was pushed.
      return [("client_id", provider.configuration.clientID), ("request_uri", requestURI)]
    case .notThere:
      guard isRequired else { return nil }
      throw .provider(.pushEndpointGone)
    case .refused(let error):
      throw .provider(.pushRefused(error: AuthorizationAnswer.known(error ?? "other")))
    case .failed(let failure): throw .signIn(.exchange(failure))
    }
  }

  // MARK: the browser

  private static func redirected(
    at listener: String, _ query: Secret, of signIns: isolated SignInCoordinator
  ) async -> RedirectPage {
    await signIns.codeFlow.redirected(at: listener, query, of: signIns)
  }

  /// Judges the browser's answer, redeems the code, and says in a page what came of it.
  ///
  /// An answer without the `state` of a sign-in that waits changes nothing: any page of the web can have the browser
  /// send one.
  private func redirected(
    at listener: String, _ query: Secret, of signIns: isolated SignInCoordinator
  ) async -> RedirectPage {
    guard let (job, request, answer) = recipient(of: query, at: listener, of: signIns) else {
      if redirects.isOfEndedSignIn(query) { return SignInPage.ended() }
      let read = SecretQuery(query)
      count(read?.hasDuplicates == false ? .foreignState : .malformed, at: listener, of: signIns)
      return SignInPage.foreign(error: read?.text("error").map(AuthorizationAnswer.known))
    }
    guard !job.isAnswered else { return SignInPage.ended() }
    let id = job.id
    let failure: AgentFailure
    switch answer {
    case .code(let code):
      signIns.jobs[id]?.isAnswered = true
      do throws(RedemptionFailure) {
        let admitted = try await redeem(code, request, job, of: signIns)
        signIns.finish(id, .completed(admitted.profile.id))
        return SignInPage.signedIn(admitted.profile)
      } catch {
        failure = error.told
      }
    case .refused(let reason), .foreign(let reason): failure = .signIn(.answer(reason))
    }
    signIns.finish(id, .failed(failure))
    return SignInPage.failed(failure, provider: job.provider.configuration.name.text)
  }

  /// The sign-in that waits for an answer with this `state`.
  private func recipient(
    of query: Secret, at listener: String, of signIns: isolated SignInCoordinator
  ) -> (SignInJob, AuthorizationRequest, AuthorizationAnswer)? {
    for id in redirects.signIns(at: listener) {
      guard let job = signIns.jobs[id], job.isPending, let request = job.request else { continue }
      let answer = AuthorizationAnswer(query: query, to: request, of: job.provider)
      if answer.hasState { return (job, request, answer) }
    }
    return nil
  }

  private static func refused(
    _ refusal: RedirectRefusal, at listener: String, of signIns: isolated SignInCoordinator
  ) async {
    signIns.codeFlow.count(refusal, at: listener, of: signIns)
  }

  /// Remembers for the sign-ins that wait there what came and was refused: their callers are told.
  private func count(_ refusal: RedirectRefusal, at listener: String, of signIns: isolated SignInCoordinator) {
    for id in redirects.signIns(at: listener) {
      guard let count = signIns.jobs[id]?.refusals.count, count < SignInJob.refusalsAtMost else { continue }
      signIns.jobs[id]?.refusals = SignInJob.Refusals(count: count + 1, last: refusal)
      dependencies.environment.log.log(
        .notice, "redirect answer refused",
        [(.signIn, .hashed(id)), (.count, .number(Int64(count + 1))), (.reason, .name(refusal.rawValue))])
    }
  }

  // MARK: by hand

  /// Takes the answer from a person instead of the browser. Text that is no answer to this sign-in leaves it as it is,
  /// so that the right one can still be brought; the error then has `attemptsLeft`, or is one that passes.
  func complete(
    _ job: SignInJob, with pasted: Secret, of signIns: isolated SignInCoordinator
  ) async throws(AgentFailure) -> SignInJob.Status {
    let id = job.id
    guard job.isPending else { return job.status }
    guard let request = job.request else {
      throw .invalidParameter(
        "/signIn", expected: "a sign-in by browser or paste; one by device ends by itself, once the person has agreed")
    }
    let hasOthers = try await providers.hasOthers(than: job.provider)
    guard let job = signIns.jobs[id], job.isPending else { return signIns.outcome(of: id) }
    guard !job.isAnswered else { return try await signIns.wait(id) }
    let code: Secret
    var hasState = true
    let answer = PastedAnswer(pasted)
    switch answer {
    case .address(_, let query)?, .query(let query)?:
      let judged = AuthorizationAnswer(query: query, to: request, of: job.provider)
      if case .foreign(let failure) = judged { throw tryAgain(id, .signIn(.answer(failure)), of: signIns) }
      // Another server may have been sent on to with this sign-in's state.
      if answer?.isElsewhere(than: request.redirectURI) == true {
        throw tryAgain(id, .signIn(.answer(.anotherAddress)), of: signIns)
      }
      if case .query? = answer, hasOthers, !job.provider.namesItselfInAnswers {
        throw tryAgain(id, .signIn(.wholeAddressNeeded), of: signIns)
      }
      switch judged {
      case .code(let found): code = found
      case .refused(let failure), .foreign(let failure): throw fail(id, .signIn(.answer(failure)), of: signIns)
      }
    case .code(let found)?:
      guard !hasOthers else { throw tryAgain(id, .signIn(.wholeAddressNeeded), of: signIns) }
      guard job.provider.bindsCodes(askedWith: job.scopes) else {
        throw tryAgain(id, .signIn(.codeWithoutState), of: signIns)
      }
      (code, hasState) = (found, false)
    case nil:
      throw tryAgain(id, .signIn(.pastedNoAnswer), of: signIns)
    }
    signIns.jobs[id]?.isAnswered = true
    do throws(RedemptionFailure) {
      let admitted = try await redeem(code, request, job, of: signIns)
      signIns.finish(id, .completed(admitted.profile.id))
      return .completed(admitted.profile.id)
    } catch {
      switch error {
      case .exchange(.offline), .exchange(.transient):
        // Nothing was redeemed: the code is as good as before.
        signIns.jobs[id]?.isAnswered = false
        throw error.told
      // Without a state the agent can't tell which sign-in the code is of: perhaps the person mistyped it.
      case .exchange(.reauthenticate) where !hasState, .exchange(.unexplained) where !hasState:
        throw tryAgain(id, error.told, of: signIns)
      case .exchange, .admission: throw fail(id, error.told, of: signIns)
      }
    }
  }

  private func fail(
    _ id: String, _ error: AgentFailure, of signIns: isolated SignInCoordinator
  ) -> AgentFailure {
    signIns.finish(id, .failed(error))
    return error
  }

  /// The sign-in goes on, unless this was one try too many.
  private func tryAgain(
    _ id: String, _ error: AgentFailure, of signIns: isolated SignInCoordinator
  ) -> AgentFailure {
    signIns.jobs[id]?.isAnswered = false
    let left = (signIns.jobs[id]?.answersLeft ?? 1) - 1
    signIns.jobs[id]?.answersLeft = left
    guard left > 0, signIns.jobs[id]?.isPending == true else { return fail(id, error, of: signIns) }
    return .signIn(.answerRejected(error, attemptsLeft: left))
  }

  // MARK: redeeming

  private enum RedemptionFailure: Error {
    /// The token endpoint gave nothing.
    case exchange(ExchangeFailure)
    /// The exchange succeeded, and no account could be made of it.
    case admission(AgentFailure)

    var told: AgentFailure {
      switch self {
      case .exchange(let failure): .signIn(.exchange(failure))
      case .admission(let error): error
      }
    }
  }

  private func redeem(
    _ code: Secret, _ request: AuthorizationRequest, _ job: SignInJob, of signIns: isolated SignInCoordinator
  ) async throws(RedemptionFailure) -> Admitted {
    let client = dependencies.client(of: job.provider)
    await admission.drainBeforeIssue(job)
    let hold = await admission.hold(job.provider)
    defer { hold.end() }
    // It may have been cancelled while the revocations went first: its code is not redeemed for nobody.
    if let ended = signIns.failureOfEnded(job.id) { throw .admission(ended) }
    let answer = await client.exchange(
      code: code, redirectURI: request.redirectURI, verifier: request.verifier, boundTo: job.deviceKey)
    let (figures, issuer) = (dependencies.environment.figures, job.provider.configuration.issuer)
    switch answer {
    case .failed(let failure):
      figures.grantEnded(.signIn, failure, issuer: issuer)
      throw .exchange(failure)
    case .answered(let body, let sentAt):
      figures.grantEnded(.signIn, nil, issuer: issuer)
      do throws(AgentFailure) {
        return try await admission.admit(
          SignInAdmission.IssuedAnswer(body, sentAt, of: job, nonce: .required(request.nonce), holding: hold), client,
          of: signIns)
      } catch {
        throw .admission(error)
      }
    }
  }
}
