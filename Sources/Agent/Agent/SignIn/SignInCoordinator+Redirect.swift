internal import AgentCore
internal import AgentModel
internal import AgentOAuth
internal import AgentPorts
package import Secrets

/// The authorization code flow: the browser comes back by itself, or a person brings what it was sent back with.
extension SignInCoordinator {
  /// The browser's destination, and the way its answer comes back.
  func redirection(
    _ id: String, _ flow: SignInFlow, to provider: Provider, scopes: [String], wishes: SignInJob.Wishes
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
        let uri = try redirects.open(redirect, for: id, by: dependencies.environment.redirects) { listener, query in
          await self.redirected(at: listener, query)
        }
        request = AuthorizationRequest(redirectURI: uri, entropy: entropy)
        way = .browser(request)
      } catch {
        throw AgentFailure(error)
      }
    }
    let parameters = request.parameters(
      of: provider.configuration, scopes: scopes, prompt: wishes.prompt, loginHint: wishes.loginHint)
    do throws(AgentFailure) {
      guard let pushed = try await push(parameters, to: provider) else { return (way, endpoint.adding(parameters)) }
      return (way, endpoint.adding(pushed))
    } catch {
      redirects.leave(id)
      throw error
    }
  }

  /// Judges the browser's answer, redeems the code, and says in a page what came of it.
  ///
  /// An answer without the `state` of a sign-in that waits changes nothing: any page of the web can have the browser
  /// send one.
  private func redirected(at listener: String, _ query: String) async -> RedirectPage {
    guard let (job, request, answer) = recipient(of: query, at: listener) else {
      if redirects.isOfEndedSignIn(query) { return SignInPage.ended() }
      countForeignAnswer(at: listener)
      return SignInPage.foreign(error: HTTPQuery(query)?["error"].map(AuthorizationAnswer.known))
    }
    guard !job.isAnswered else { return SignInPage.ended() }
    let id = job.id
    let failure: AgentFailure
    switch answer {
    case .code(let code):
      jobs[id]?.isAnswered = true
      do throws(RedemptionFailure) {
        let admitted = try await redeem(code, request, job)
        finish(id, .completed(admitted.profile.id))
        return SignInPage.signedIn(admitted.profile)
      } catch {
        failure = error.told
      }
    case .refused(let reason), .foreign(let reason): failure = .signIn(.answer(reason))
    }
    finish(id, .failed(failure))
    return SignInPage.failed(failure, provider: job.provider.configuration.name.text)
  }

  /// The sign-in that waits for an answer with this `state`.
  private func recipient(
    of query: String, at listener: String
  ) -> (SignInJob, AuthorizationRequest, AuthorizationAnswer)? {
    for id in redirects.signIns(at: listener) {
      guard let job = jobs[id], job.isPending, let request = job.request else { continue }
      let answer = AuthorizationAnswer(query: query, to: request, of: job.provider)
      if answer.hasState { return (job, request, answer) }
    }
    return nil
  }

  /// Remembers for the sign-ins that wait there that an answer came which was for none of them.
  private func countForeignAnswer(at listener: String) {
    for id in redirects.signIns(at: listener) {
      guard let count = jobs[id]?.foreignAnswers, count < SignInJob.foreignAnswersAtMost else { continue }
      jobs[id]?.foreignAnswers = count + 1
      dependencies.environment.log.log(
        .notice, "foreign redirect answer", [(.signIn, .hashed(id)), (.count, .number(Int64(count + 1)))])
    }
  }

  // MARK: by hand

  /// Takes the answer from a person instead of the browser. Text that is no answer to this sign-in leaves it as it is,
  /// so that the right one can still be brought; the error then has `attemptsLeft`, or is one that passes.
  package func complete(_ id: String, with pasted: Secret) async throws(AgentFailure) -> SignInJob.Status {
    guard let job = jobs[id] else { throw await notFound() }
    guard job.isPending else { return job.status }
    guard let request = job.request else {
      throw .invalidParameter(
        "/signIn", expected: "a sign-in by browser or paste; one by device ends by itself, once the person has agreed")
    }
    guard !job.isAnswered else { return try await wait(id) }
    let code: Secret
    let hasState: Bool
    switch PastedAnswer(pasted) {
    case .query(let query)?:
      hasState = true
      switch AuthorizationAnswer(query: query, to: request, of: job.provider) {
      case .code(let found): code = found
      case .foreign(let failure): throw tryAgain(id, .signIn(.answer(failure)))
      case .refused(let failure): throw fail(id, .signIn(.answer(failure)))
      }
    case .code(let found)?:
      guard job.provider.bindsCodes else { throw tryAgain(id, .signIn(.codeWithoutState)) }
      (code, hasState) = (Secret(text: found), false)
    case nil:
      throw tryAgain(
        id,
        .signIn(.pastedNoAnswer))
    }
    jobs[id]?.isAnswered = true
    do throws(RedemptionFailure) {
      let admitted = try await redeem(code, request, job)
      finish(id, .completed(admitted.profile.id))
      return .completed(admitted.profile.id)
    } catch {
      switch error {
      case .exchange(.offline), .exchange(.transient):
        // Nothing was redeemed: the code is as good as before.
        jobs[id]?.isAnswered = false
        throw error.told
      // Without a state the agent can't tell which sign-in the code is of: perhaps the person mistyped it.
      case .exchange(.reauthenticate) where !hasState, .exchange(.unexplained) where !hasState:
        throw tryAgain(id, error.told)
      case .exchange, .admission: throw fail(id, error.told)
      }
    }
  }

  private func fail(_ id: String, _ error: AgentFailure) -> AgentFailure {
    finish(id, .failed(error))
    return error
  }

  /// The sign-in goes on, unless this was one try too many.
  private func tryAgain(_ id: String, _ error: AgentFailure) -> AgentFailure {
    jobs[id]?.isAnswered = false
    let left = (jobs[id]?.answersLeft ?? 1) - 1
    jobs[id]?.answersLeft = left
    guard left > 0, jobs[id]?.isPending == true else { return fail(id, error) }
    return .signIn(.answerRejected(error, attemptsLeft: left))
  }

  // MARK: redeeming

  enum RedemptionFailure: Error {
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
    _ code: Secret, _ request: AuthorizationRequest, _ job: SignInJob
  ) async throws(RedemptionFailure) -> Admitted {
    let client = client(job.provider)
    await drainBeforeIssue(job)
    switch await client.exchange(code: code, redirectURI: request.redirectURI, verifier: request.verifier) {
    case .failed(let failure): throw .exchange(failure)
    case .answered(let body, let sentAt):
      do throws(AgentFailure) {
        return try await admit(IssuedAnswer(body, sentAt, of: job, nonce: .required(request.nonce)), client)
      } catch {
        throw .admission(error)
      }
    }
  }
}
