public import JSONRPC
public import AgentModel

/// Roles and entitlements in a token or a userinfo response.
///
/// The signature is not verified: the token came from the token endpoint over TLS (OpenID Connect Core §3.1.3.7, 6).
/// Only this agent's decisions use the claims; a resource server verifies the tokens that it gets.
public struct RightsClaims: Hashable, Sendable {
  /// Nil if the claim is missing or has a type that holds no names.
  public var roles: NameSet?
  /// RFC 9068 §2.2.3.1; nil if the claim is missing.
  public var entitlements: NameSet?

  public init(roles: NameSet? = nil, entitlements: NameSet? = nil) {
    self.roles = roles
    self.entitlements = entitlements
  }

  /// Reads claims; `rolesClaim` may be a path with dots.
  public init(_ claims: JSONNode, rolesClaim: String?) {
    roles = rolesClaim.flatMap { claims.claim(at: $0[...]) }?.names.map {
      RightsUpdate.bounded($0, atMost: RightsUpdate.mostRoles)
    }
    entitlements = claims.claim(at: "entitlements")?.names.map {
      RightsUpdate.bounded($0, atMost: RightsUpdate.mostEntitlements)
    }
  }

  /// Reads a JWT in compact form (RFC 7515 §7.1); nil for an opaque token.
  public init?(token: UnsafeRawBufferPointer, rolesClaim: String?) {
    guard token.count <= CompactJWT.maximumBytes else { return nil }
    let parts = token.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    guard parts.count == 3, let payload = Base64URL.decode(UnsafeRawBufferPointer(rebasing: parts[1])),
      let claims = try? StrictJSON.object(
        payload, { (claims) throws(IDTokenFailure) in RightsClaims(claims, rolesClaim: rolesClaim) })
    else { return nil }
    self = claims
  }
}

/// The response of an entitlements endpoint: an array of names, or an object with `entitlements`, optionally `roles`
/// and `sub`. Any other document is refused as a whole.
public struct EntitlementsDocument: Hashable, Sendable {
  public var entitlements: NameSet
  public var roles: NameSet?
  /// `sub`, if the response names the person.
  public var subject: String?

  /// Nil if the document has another form or exceeds the bounds of a snapshot.
  public init?(_ document: JSONNode) {
    switch document.kind {
    case .array:
      guard let names = Self.names(document, atMost: RightsUpdate.mostEntitlements) else { return nil }
      entitlements = names
    case .object:
      guard let list = document["entitlements"],
        let names = Self.names(list, atMost: RightsUpdate.mostEntitlements)
      else { return nil }
      entitlements = names
      if let list = document["roles"] {
        guard let names = Self.names(list, atMost: RightsUpdate.mostRoles) else { return nil }
        roles = names
      }
      if let subject = document["sub"] {
        guard let text = subject.string else { return nil }
        self.subject = text
      }
    default: return nil
    }
  }

  private static func names(_ list: JSONNode, atMost bound: Int) -> NameSet? {
    guard list.kind == .array else { return nil }
    var names: NameSet = []
    for element in list.elements {
      guard let name = element.string, !name.isEmpty, name.unicodeScalars.count <= RightsUpdate.longestName else {
        return nil
      }
      names.insert(name)
    }
    return names.count <= bound ? names : nil
  }
}
