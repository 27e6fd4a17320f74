package import AgentCore
package import AgentModel
package import AgentPorts
internal import JSONRPC
internal import SecretJSON
package import Secrets

/// The request with which the browser goes to the provider, and the values that its answer is compared with.
package struct AuthorizationRequest: Sendable {
  /// RFC 6749 §10.12, single use.
  package let state: String
  /// OpenID Connect Core §3.1.2.1, single use.
  package let nonce: String
  /// RFC 7636: proves at the token endpoint that the client that redeems the code is the one that asked for it.
  package let verifier: Secret
  package let redirectURI: String

  package init(redirectURI: String, entropy: any Entropy) {
    self.redirectURI = redirectURI
    state = Base64URL.encode(entropy.bytes(24))
    nonce = Base64URL.encode(entropy.bytes(24))
    verifier = .randomText(byteCount: 32, entropy)
  }

  /// The parameters of the request (RFC 6749 §4.1.1, RFC 7636 §4.3, OpenID Connect Core §3.1.2.1), in the URL that the
  /// browser opens or pushed to the provider before.
  package func parameters(
    of provider: ProviderConfiguration, scopes: [String], prompt: String?, loginHint: String?,
    details: AuthorizationDetails? = nil, authentication: RequestedAuthentication = RequestedAuthentication()
  ) -> [(String, String)] {
    let challenge = verifier.withBytes { Base64URL.encode(sha256($0)) }
    var items = [
      ("response_type", "code"), ("client_id", provider.clientID), ("redirect_uri", redirectURI),
      ("state", state), ("nonce", nonce), ("code_challenge", challenge),
      ("code_challenge_method", "S256"),
    ]
    // RFC 6749 §3.1: a parameter without a value counts as left out.
    if !scopes.isEmpty { items.insert(("scope", scopes.joined(separator: " ")), at: 3) }
    if let prompt = prompt ?? provider.defaultPrompt { items.append(("prompt", prompt)) }
    if let loginHint { items.append(("login_hint", loginHint)) }
    if !authentication.acrValues.isEmpty {
      items.append(("acr_values", authentication.acrValues.joined(separator: " ")))
    }
    if let age = authentication.maxAgeSeconds { items.append(("max_age", "\(age)")) }
    if let claims = authentication.claims { items.append(("claims", claims)) }
    if let details { items.append(("authorization_details", details.text)) }  // RFC 9396 §3
    for resource in provider.sentResources { items.append(("resource", resource)) }  // RFC 8707 §2.1
    for (name, value) in provider.authorizationParameters.sorted(by: { $0.key < $1.key }) {
      items.append((name, value))
    }
    return items
  }
}

/// How the person has to be authenticated (OpenID Connect Core §3.1.2.1 and §5.5), as a resource server may demand it
/// (RFC 9470 §4).
package struct RequestedAuthentication: Sendable {
  package var acrValues: [String]
  package var maxAgeSeconds: Int64?
  /// A JSON object.
  package var claims: String?

  package init(acrValues: [String] = [], maxAgeSeconds: Int64? = nil, claims: String? = nil) {
    self.acrValues = acrValues
    self.maxAgeSeconds = maxAgeSeconds
    self.claims = claims
  }
}

extension RequestedAuthentication {
  /// Over 100 years, which is as good as no limit; a greater number could overflow.
  private static let longestAgeSeconds: Int64 = 1 << 32

  var maximumAge: Milliseconds? { maxAgeSeconds.map { .seconds(min($0, Self.longestAgeSeconds)) } }

  /// An essential `acr` in `claims` (OpenID Connect Core §5.5.1) counts before `acr_values`.
  package var context: IDTokenPolicy.Context {
    if let essential = claims.flatMap(Self.essentialContexts) { return .essential(essential) }
    return acrValues.isEmpty ? .unasked : .voluntary(acrValues)
  }

  /// Nil unless `claims` asks for `acr` in the ID token as an essential claim.
  private static func essentialContexts(in claims: String) -> [String]? {
    SecretJSON.read(Secret(text: claims), duplicateKeys: .allowed) { node in
      guard let wanted = node["id_token"]?["acr"], wanted["essential"]?.bool == true else { return nil }
      return wanted["values"]?.strings ?? [wanted["value"]?.string].compactMap { $0 }
    }
  }
}

extension ProviderConfiguration.Redirect {
  /// The redirect URI for a browser that may run on another machine: the agent does not listen there, and the person
  /// brings the address back. Without a port of its own it draws a dynamic port (RFC 6335 §6), another one each time,
  /// so that no program on that machine can wait for it.
  package func unattendedURI(_ entropy: any Entropy) -> String {
    let drawn = entropy.bytes(2).reduce(0) { $0 << 8 | UInt16($1) }
    let port = port ?? 49_152 + drawn % 16_384
    return "http://\(host.contains(":") ? "[\(host)]" : host):\(port)\(path)"
  }
}
