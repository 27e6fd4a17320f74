package import AgentModel
package import AgentOAuth
package import Secrets

/// A login that lives or comes to live, as far as a revocation can end it. None that waits in the outbox may do so
/// (docs/sign-out.md, Outbox).
package struct ProtectedLogin: Sendable {
  var identity: Identity
  /// The client and the server that issued its tokens.
  var issuedBy: IssuingClient
  /// What it holds, and what it was made with: refresh tokens, access tokens, or its secret.
  var tokens: [Secret]
  /// Its refresh token came from elsewhere, by an import or a backup: it may be of the family of one that waits.
  var mayShareFamily: Bool

  package init(
    identity: Identity, issuedBy: IssuingClient, tokens: [Secret],
    mayShareFamily: Bool = false
  ) {
    self.identity = identity
    self.issuedBy = issuedBy
    self.tokens = tokens
    self.mayShareFamily = mayShareFamily
  }

  /// True if the entry's revocation would end this login, or a token of it.
  ///
  /// - Parameters:
  ///   - configured: the providers that are the login's client as they are configured now.
  ///   - erased: the person's identity in entries whose account was erased.
  package func isEnded(by entry: OutboxEntry, _ configured: [Provider], erased: Identity? = nil) -> Bool {
    // A server may give the same token again, and one secret may be kept under two providers.
    if tokens.contains(where: { entry.token.equals($0) }) { return true }
    guard entry.isOf(issuedBy), entry.mayBe(of: identity, erased: erased) else { return false }
    switch entry.reach(with: configured) {
    case .grant: return true
    case .family: return mayShareFamily && entry.kind == .refreshToken
    case .token: return false
    }
  }
}

extension OutboxEntry {
  /// The token was issued to this client, whatever its provider is called.
  func isOf(_ client: IssuingClient) -> Bool {
    guard let sender else { return equalCodePoints(issuer, client.issuer) }
    return sender.issuingClient.isClient(client.clientID, of: client.issuer)
  }

  /// False if the token is another person's. True where that is not known.
  func mayBe(of person: Identity, erased: Identity?) -> Bool {
    guard let identity else { return true }
    return identity == person || identity == erased || identity.isUnproven || person.isUnproven
  }

  /// The most that one revocation ends, by all that is known of the server.
  fileprivate func reach(with configured: [Provider]) -> ProviderConfiguration.RevocationScope {
    let told = Set(((sender.map { [$0] } ?? []) + configured).map(\.configuration.revocationScope))
    return told.contains(.grant) ? .grant : told == [.token] ? .token : .family
  }
}
