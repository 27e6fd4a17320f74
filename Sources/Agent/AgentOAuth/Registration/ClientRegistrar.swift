internal import AgentCore
internal import AgentModel
internal import AgentPorts
internal import JSONRPC
internal import SecretJSON
internal import Secrets

/// Registers the agent where that is offered (RFC 7591), and takes its registration back (RFC 7592).
package struct ClientRegistrar: Sendable {
  let client: ProviderClient

  /// A native client that listens on loopback (RFC 8252): nothing is asked for that needs an administrator. It is a
  /// public one where the provider takes that. After a refusal of the client's metadata, which registered nothing, the
  /// next method is asked for.
  package func register(at endpoint: String) async throws(RegistrationFailure) -> ClientRegistration.Answer {
    let methods = client.provider.methodsToRegister
    var attempts = client.provider.scopesToRegister.flatMap { scopes in methods.map { ($0, scopes) } }[...]
    while true {
      guard let (method, scopes) = attempts.popFirst() else { throw .unsuitable }
      do throws(RegistrationFailure) {
        return try await register(at: endpoint, method, scopes)
      } catch {
        guard case .refused(error: "invalid_client_metadata"?) = error, !attempts.isEmpty else { throw error }
      }
    }
  }

  private func register(
    at endpoint: String, _ method: ClientAuthMethod, _ scopes: [String]
  ) async throws(RegistrationFailure) -> ClientRegistration.Answer {
    let body = registrationRequest(method, scopes)
    let fields = [HTTPField("Content-Type", "application/json"), HTTPField("Accept", "application/json")]
    switch await client.documents.fetch(client.request("POST", endpoint, fields: fields, body: body)) {
    case .outcome(.response(let response)) where (200...299).contains(response.status):
      do throws(ClientRegistration.Answer.Problem) {
        return try ClientRegistration.Answer(
          body: response.body, redirectURI: client.provider.configuration.redirect.registeredURI)
      } catch {
        switch error {
        case .unusable: throw .unsuitable
        case .otherRedirects: throw .otherRedirects
        }
      }
    case .outcome(.response(let response)):
      let refusal = TokenEndpointRefusal(response, now: client.now)
      // A rate limit may come with 400.
      let isTransient = if case .transient = client.classify(refusal) { true } else { false }
      if refusal.status == 429 || refusal.status >= 500 || isTransient {
        throw .unavailable(retryAfter: refusal.retryAfter.map { min($0, FailureClassifier.longestPause) })
      }
      let error = refusal.error.flatMap { Self.errors.contains($0) ? $0 : nil }
      throw .refused(error: error)
    case .outcome(.notConnected(let failure)): throw .offline(failure)
    case .outcome(.untrusted(let reason)): throw .untrusted(reason)
    case .outcome(.unknown): throw .answerLost
    case .redirected(_, let origin): throw .redirected(to: origin)
    }
  }

  /// Deregisters the dynamic client once. A failure is ignored: an unused registration is harmless.
  package func unregister(_ registration: ClientRegistration) async {
    guard let url = registration.managementURL, let token = registration.accessToken else { return }
    _ = await client.send(client.request("DELETE", url, fields: [.bearer(token)], body: nil))
  }

  /// RFC 7591 §3.2.2, RFC 6750 §3.1.
  private static let errors = [
    "invalid_redirect_uri", "invalid_client_metadata", "invalid_software_statement", "unapproved_software_statement",
    "invalid_token", "invalid_request", "insufficient_scope", "access_denied",
  ]

  /// RFC 7591 §2.
  private func registrationRequest(_ method: ClientAuthMethod, _ scopes: [String]) -> Secret {
    let configuration = client.provider.configuration
    var grantTypes = ["authorization_code", "refresh_token"]
    if client.provider.endpoints.deviceAuthorization != nil {
      grantTypes.append("urn:ietf:params:oauth:grant-type:device_code")
    }
    return SecretJSON.write { writer in
      writer.member("client_name", "Lanyard")
      writer.member("application_type", "native")  // OpenID Connect Registration §2
      writer.member("redirect_uris", [configuration.redirect.registeredURI])
      writer.member("token_endpoint_auth_method", method.rawValue)
      writer.member("grant_types", grantTypes)
      writer.member("response_types", ["code"])
      // RFC 6749 §3.3: a scope has one name at least.
      if !scopes.isEmpty { writer.member("scope", scopes.joined(separator: " ")) }
      if client.provider.refusesBearerTokens {
        writer.key("dpop_bound_access_tokens")  // RFC 9449 §5.2
        writer.bool(true)
      }
    }
  }
}

extension ProviderClient {
  /// The registration of this client by itself.
  package var registrar: ClientRegistrar { ClientRegistrar(client: self) }
}

extension Provider {
  /// The methods to ask for, the best first: of those that the provider lists. One that lists none takes
  /// `client_secret_basic` by RFC 8414 §2, and often public clients too.
  var methodsToRegister: [ClientAuthMethod] {
    let told = tokenEndpointAuthMethods
    guard !told.isEmpty else { return [.publicClient, .clientSecretBasic] }
    // The Python SDK of MCP takes a revocation only with the secret in the form.
    let secrets: [ClientAuthMethod] =
      configuration.identity == .resource
      ? [.clientSecretPost, .clientSecretBasic] : [.clientSecretBasic, .clientSecretPost]
    let offered = ([ClientAuthMethod.publicClient] + secrets).filter { told.contains($0.rawValue) }
    return offered.isEmpty ? [.publicClient] : offered
  }

  /// The scopes to register for, the most first. A server may refuse a client any scope that it was not registered for
  /// (RFC 7591 §2), and a resource asks for more of them later: so the client of a resource is registered for all that
  /// the server announces. Each sign-in still asks for those that it needs.
  package var scopesToRegister: [[String]] {
    let wanted = configuration.scopes
    guard configuration.identity == .resource, let offered = metadata?.scopesSupported, !offered.isEmpty else {
      return [wanted]
    }
    let all = ScopeSet(wanted + offered).names
    return all.count == Set(wanted).count ? [wanted] : [all, wanted]
  }
}

extension ProviderConfiguration.Redirect {
  /// With the port that `ProviderSetup.register` chose: RFC 8252 §7.3 has the server pass over it, and some compare it.
  fileprivate var registeredURI: String {
    "http://\(host.contains(":") ? "[\(host)]" : host)\(port.map { ":\($0)" } ?? "")\(path)"
  }
}
