internal import AgentModel
package import JSONRPC
internal import SecretJSON

/// The client and the server that a token, a client secret or a client key belongs to (docs/tokens.md, Where tokens go).
/// It is sent to no other.
package struct IssuingClient: Hashable, Sendable {
  package var issuer: String
  package var clientID: String
  /// Nil if it was not known.
  package var tokenEndpoint: String?

  package init(issuer: String, clientID: String, tokenEndpoint: String?) {
    self.issuer = issuer
    self.clientID = clientID
    self.tokenEndpoint = tokenEndpoint
  }

  package static func == (a: Self, b: Self) -> Bool {
    a.isClient(b.clientID, of: b.issuer) && equalCodePoints(a.tokenEndpoint, b.tokenEndpoint)
  }

  package func hash(into hasher: inout Hasher) {
    hasher.combine(ExactText(issuer))
    hasher.combine(ExactText(clientID))
    hasher.combine(tokenEndpoint.map(ExactText.init))
  }

  package func isClient(_ clientID: String, of issuer: String) -> Bool {
    equalCodePoints(self.issuer, issuer) && equalCodePoints(self.clientID, clientID)
  }

  package func write(to writer: inout JSONWriter, as name: String) {
    writer.key(name)
    writer.beginObject()
    writer.member("issuer", issuer)
    writer.member("clientId", clientID)
    writer.member("tokenEndpoint", tokenEndpoint)
    writer.endObject()
  }

  package init?(_ node: JSONNode) {
    guard let issuer = node["issuer"]?.string, let clientID = node["clientId"]?.string else { return nil }
    self.init(issuer: issuer, clientID: clientID, tokenEndpoint: node["tokenEndpoint"]?.string)
  }
}

extension Provider {
  package var issuingClient: IssuingClient {
    IssuingClient(
      issuer: configuration.issuer, clientID: configuration.clientID, tokenEndpoint: endpoints.token)
  }

  /// Whether what was issued there may be used at this provider as it is configured now: never while the
  /// administrator's file that describes it is gone.
  package func mayReceive(_ issued: IssuingClient) -> Bool { !isGone && isIssuer(of: issued) }

  /// Whether what was issued there is this provider's as it is configured now. A token endpoint that the
  /// issuer's own documents name may move within its origin; one that a person configures may not.
  package func isIssuer(of issued: IssuingClient) -> Bool {
    guard issued.isClient(configuration.clientID, of: configuration.issuer) else { return false }
    guard let before = issued.tokenEndpoint, let now = endpoints.token, !equalCodePoints(before, now) else {
      return true
    }
    guard configuration.endpoints.token == nil, let old = HTTPURL(before), let new = HTTPURL(now) else { return false }
    return old.origin == new.origin
  }

  /// The provider as it was when it issued this; nil if that is not known any more.
  package func issuer(of issued: IssuingClient) -> Provider? {
    isIssuer(of: issued) ? self : former.first { $0.isIssuer(of: issued) }
  }

  /// Remembers the provider that this one replaces, as long as an account has tokens of it.
  package mutating func remember(_ before: Provider, for accounts: [IssuingClient]) {
    let foreign = accounts.filter { !isIssuer(of: $0) }
    former = ([before.forRevocation] + before.former).filter { old in foreign.contains { old.isIssuer(of: $0) } }
  }

  /// Without an address to which anything could be sent.
  package var withoutEndpoints: Provider {
    var part = forRevocation
    part.configuration.endpoints = .init()
    part.forgetMetadata()
    return part
  }

  /// False for `withoutEndpoints`.
  package var hasEndpoints: Bool { endpoints != .init() }

  /// A limited caller could have tokens or the client's secret sent to a place of its own by such a change, or have them
  /// work without the account's key, and no sign-in would follow. A changed issuer, client or token endpoint is not one:
  /// nothing old is sent there.
  package func directsElsewhere(than before: Provider) -> Bool {
    let (new, old) = (configuration, before.configuration)
    var (newPlaces, oldPlaces) = (new.endpoints, old.endpoints)
    (newPlaces.token, oldPlaces.token) = (nil, nil)
    return newPlaces != oldPlaces || new.secret != old.secret || new.caFile != old.caFile || new.proxy != old.proxy
      || new.pins != old.pins
      || new.pinsExpireAt != old.pinsExpireAt || new.allowedOrigins != old.allowedOrigins
      || new.allowedFields != old.allowedFields || new.dpop != old.dpop
      || new.requiresPKCE != old.requiresPKCE || new.identity != old.identity
      || new.authorization.entitlementsURL != old.authorization.entitlementsURL
  }
}
