package import AgentCore
package import AgentModel
internal import AgentOAuth
internal import AgentRecords
package import AgentStore
package import Secrets

/// A caller's wish for a proof of possession, for a request that it sends by itself.
package struct ProofRequest: Sendable {
  var method: String
  var url: HTTPURL
  /// The token that the request carries; nil for the standard one.
  var fingerprint: String?
  /// What the server told in `DPoP-Nonce`.
  var nonce: String?
  /// Of a limited caller.
  var permission: Permission?

  package init(method: String, url: HTTPURL, fingerprint: String?, nonce: String?, permission: Permission?) {
    self.method = method
    self.url = url
    self.fingerprint = fingerprint
    self.nonce = nonce
    self.permission = permission
  }
}

/// Proofs for programs (docs/dpop.md, Programs).
extension Account {
  package func proof(for request: ProofRequest) async throws(AgentFailure) -> (proof: Secret, thumbprint: String) {
    try await request.proof(from: self)
  }
}

extension ProofRequest {
  fileprivate func proof(from account: isolated Account) async throws(AgentFailure) -> (Secret, String) {
    try await account.load()
    let id = account.id
    try account.requireGrant()
    guard let loaded = account.loaded else { throw .locked }
    guard loaded.profile.signInStatus == .signedIn else { throw .token(.signedOut, id) }
    // Known without an exchange.
    guard loaded.grant.deviceKey != nil else { throw .notBound(id) }
    let token = try await token(of: account)
    guard let key = token.key else { throw .notBound(id) }
    let provider = try await account.dependencies.vault.receiver(ofTokensOf: id)
    // The key goes with its grant, also while this request waited.
    guard let current = account.loaded?.grant.deviceKey else { throw .token(.signedOut, id) }
    guard current.thumbprint == key.thumbprint else { throw .notFound(.token, id) }
    guard !provider.isOwnEndpoint(url) else {
      throw .invalidParameter("/url", expected: "an address of a resource, and none of the provider's own endpoints")
    }
    let proof = account.dependencies.client(of: provider).proofs.proof(
      for: method, url, by: key, accessToken: token.token, nonce: nonce)
    guard let proof else { throw .notBound(id) }
    return (proof, key.thumbprint)
  }

  /// The token that the request carries, if the caller may have it.
  private func token(of account: isolated Account) async throws(AgentFailure) -> AccessCredential {
    guard let fingerprint = fingerprint else {
      guard let key = permission.map({ $0.token(.standard) }) ?? .standard else { throw .caller(.notCovered) }
      return try await account.token(
        key, .usable(minimumLifetime: .zero), within: permission?.tokenLimit ?? .none
      ).token.credential
    }
    try account.requireTokensServed()
    if let derived = try account.rareParts.derived?.live(fingerprint, within: permission, of: account) {
      return AccessCredential(derived.secret, boundTo: derived.deviceKey)
    }
    guard let token = account.tokens.live(fingerprint: fingerprint, of: account) else {
      throw .notFound(.token, account.id)
    }
    guard
      permission?.covers(
        account.loaded?.machine.named(token.key) ?? token.key, scopes: token.scopes, account.loaded?.grant.details)
        ?? true
    else {
      throw .caller(.notCovered)
    }
    return token.credential
  }
}

extension Permission {
  /// True if the caller could have been given this token.
  fileprivate func covers(_ key: TokenKey, scopes granted: ScopeSet, _ details: AuthorizationDetails?) -> Bool {
    guard tokenLimit.covers(details), let covered = token(key), covered.resource == key.resource else { return false }
    return scopes.map { granted.isWithin($0) } ?? true
  }
}
