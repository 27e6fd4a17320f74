package import AgentCore
package import AgentModel
internal import AgentPorts
internal import Secrets

/// The exchanges of a machine identity (docs/machines.md): each is its grant, spends nothing, and may be repeated after a
/// lost answer.
extension ProviderClient {
  package enum MachineAnswer: Sendable {
    /// The answer has an access token and no refresh token.
    case token(TokenResponse, sentAt: BootInstant)
    case failed(ExchangeFailure)
  }

  /// The grants' types (RFC 7523 §2.1, RFC 8693 §2.1).
  private static let jwtBearer = "urn:ietf:params:oauth:grant-type:jwt-bearer"
  private static let tokenExchange = "urn:ietf:params:oauth:grant-type:token-exchange"

  /// Asks for a token with the scopes and the resource of `key`; the standard one has those of the provider.
  ///
  /// A refusal tells the server's time. An assertion of another time was refused for that, and is made once again.
  ///
  /// - Parameter device: the key that the account's tokens are bound to; nil: the token is a bearer token.
  package func machineToken(
    _ grant: MachineGrant, for key: TokenKey, boundTo device: DeviceKey? = nil
  ) async -> MachineAnswer {
    let before = now
    let answer = await askOnce(grant, for: key, boundTo: device)
    guard case .failed(.misconfigured) = answer, grant.provesClient || provider.authenticationMethod == .privateKeyJWT,
      !(-Self.clockTolerance...Self.clockTolerance).contains((now - before).count)
    else { return answer }
    return await askOnce(grant, for: key, boundTo: device)
  }

  /// In milliseconds. A slow answer takes as long, too; one more request does no harm.
  private static let clockTolerance: Int64 = 10_000

  private func askOnce(
    _ grant: MachineGrant, for key: TokenKey, boundTo device: DeviceKey?
  ) async -> MachineAnswer {
    guard let endpoint = provider.endpoints.token else { return .failed(.misconfigured("noTokenEndpoint")) }
    // As for a refresh: the provider would refuse the request, and count it.
    guard key.resource == nil || provider.configuration.takesResource else {
      return .failed(.misconfigured("invalid_target"))
    }
    guard canAuthenticate else { return .failed(.unsigned) }
    var form: FormBody
    do throws(GrantFailure) {
      let scopes = key.scopes ?? ScopeSet(provider.configuration.scopes)
      switch grant {
      case .clientCredentials: form = clientCredentials(scopes)
      case .jwtBearer(let assertion): form = try self.assertion(assertion, scopes, at: endpoint)
      case .tokenFile(let path): form = try await subjectToken(in: path, scopes)
      case .githubApp(let installation): return await installationToken(installation, for: key, at: endpoint)
      }
    } catch {
      return .failed(error.failure)
    }
    let resources = key.resource.map { [$0] } ?? provider.configuration.sentResources
    for resource in resources { form.append("resource", resource) }  // RFC 8707 §2.2
    for (name, value) in provider.configuration.authorizationParameters.sorted(by: { $0.key < $1.key }) {
      form.append(name, value)
    }
    return read(await exchange(form, boundTo: device), isBound: device != nil)
  }

  // MARK: the grants

  /// There is nothing to ask with.
  private struct GrantFailure: Error { let failure: ExchangeFailure }

  private func clientCredentials(_ scopes: ScopeSet) -> FormBody {
    var form = FormBody()
    form.append("grant_type", "client_credentials")
    if !scopes.isEmpty { form.append("scope", scopes.spaceDelimited) }
    return form
  }

  /// Google reads the scopes in the assertion, and `sub` as the user on whose behalf the machine asks; its request has
  /// the assertion alone (developers.google.com/identity/protocols/oauth2/service-account, read on 2026-11-29). Other
  /// servers want `sub` in any case (RFC 7523 §3) and read the scopes in the request (RFC 7521 §4.1) or in the assertion.
  private func assertion(
    _ assertion: MachineGrant.Assertion, _ scopes: ScopeSet, at endpoint: String
  ) throws(GrantFailure) -> FormBody {
    let configuration = provider.configuration
    let isGoogle = equalCodePoints(configuration.issuer, ProviderPreset.named("google")?.issuer)
    var claims = ClientAssertion(
      assertion, ofClient: configuration.clientID, at: endpoint, scopes: scopes, id: assertionID(), now: now)
    if isGoogle { claims.subject = assertion.subject }
    guard let signed = signed(claims) else { throw GrantFailure(failure: .unsigned) }
    var form = FormBody()
    form.append("grant_type", Self.jwtBearer)
    form.append("assertion", signed)
    if !scopes.isEmpty, !isGoogle { form.append("scope", scopes.spaceDelimited) }
    return form
  }

  private func subjectToken(in path: String, _ scopes: ScopeSet) async throws(GrantFailure) -> FormBody {
    var form = FormBody()
    form.append("grant_type", Self.tokenExchange)
    do throws(SubjectTokenFault) {
      form.append("subject_token", try await dependencies.subjectTokens.token(at: path))
    } catch {
      throw GrantFailure(
        failure: error.mayPass ? .transient(error.rawValue, retryAfter: nil) : .misconfigured(error.rawValue))
    }
    if provider.configuration.authorizationParameters["subject_token_type"] == nil {
      form.append("subject_token_type", ExchangedToken.TokenType.jwt)
    }
    if !scopes.isEmpty { form.append("scope", scopes.spaceDelimited) }
    return form
  }

  // MARK: the answer

  private func read(_ outcome: HTTPOutcome, isBound: Bool) -> MachineAnswer {
    switch judge(outcome, isBound: isBound) {
    case .answered(let body, let sentAt):
      guard var response = TokenResponse(body: body, provider.scopeSeparators) else {
        return .failed(.transient(FailureClassifier.notAnOAuthAnswer, retryAfter: nil))
      }
      // RFC 6749 §4.4.3: there should be none, and the agent asks with the grant again.
      response.refreshToken = nil
      response.idToken = nil
      return .token(response, sentAt: sentAt)
    // No person can sign in again or consent: what is refused is the client, or what it asks for.
    case .failed(.reauthenticate), .failed(.interaction):
      return .failed(.misconfigured(error(in: outcome) ?? "invalid_grant"))
    case .failed(.unexplained(let status, let isPage)):
      // As portals and proxies send one.
      if isPage { return .failed(.transient(FailureClassifier.notAnOAuthAnswer, retryAfter: nil)) }
      return .failed(.misconfigured(error(in: outcome) ?? "status\(status)"))
    case .failed(let failure): return .failed(failure)
    }
  }

  private func error(in outcome: HTTPOutcome) -> String? {
    guard case .response(let response) = outcome else { return nil }
    return TokenEndpointRefusal(response, now: now).error
  }
}
