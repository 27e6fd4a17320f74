public import JSONRPC
internal import AgentModel

/// What a token or a userinfo answer says of rights.
///
/// A token is read without another look at its signature: it came from the token endpoint itself, over TLS (OpenID
/// Connect Core §3.1.3.7, 6). Nothing is ever granted on it beyond this agent's own decisions; resources check theirs.
public struct RightsClaims: Hashable, Sendable {
  /// Nil if there is no such claim, or it is nothing that names roles.
  public var roles: Set<String>?
  /// RFC 9068 §2.2.3.1.
  public var entitlements: Set<String>?

  public init(roles: Set<String>? = nil, entitlements: Set<String>? = nil) {
    self.roles = roles
    self.entitlements = entitlements
  }

  public init(_ claims: JSONNode, rolesClaim: String?) {
    roles = rolesClaim.flatMap { claims.claim(at: $0[...]) }?.names.map {
      RightsUpdate.bounded($0, atMost: RightsUpdate.mostRoles)
    }
    entitlements = claims.claim(at: "entitlements")?.names.map {
      RightsUpdate.bounded($0, atMost: RightsUpdate.mostEntitlements)
    }
  }

  /// Nil if it is no signed token in compact form (RFC 7515 §7.1): then it is opaque, and says nothing.
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

/// What the entitlements' address answers: a list of names, or an object with `entitlements` and, if it likes, `roles`.
/// Anything else is refused as a whole.
public struct EntitlementsDocument: Hashable, Sendable {
  public var entitlements: Set<String>
  public var roles: Set<String>?
  /// Whose they are, where it says so.
  public var subject: String?

  /// Nil if it is neither, or holds more than a snapshot may.
  public init?(_ document: JSONNode) {
    switch document.kind {
    case .array:
      guard let names = Self.names(document, atMost: RightsUpdate.mostEntitlements) else { return nil }
      entitlements = names
    case .object:
      guard !document.hasDuplicateKeys, let list = document["entitlements"],
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

  private static func names(_ list: JSONNode, atMost bound: Int) -> Set<String>? {
    guard list.kind == .array else { return nil }
    var names: Set<String> = []
    for element in list.elements {
      guard let name = element.string, !name.isEmpty, name.unicodeScalars.count <= RightsUpdate.longestName else {
        return nil
      }
      names.insert(name)
    }
    return names.count <= bound ? names : nil
  }
}
