public import AgentModel
internal import JSONRPC

/// Names of claims that no standard defines. A name may be a path with dots (`realm_access.roles`); a claim with dots
/// in its own name is found too.
public struct ClaimNames: Sendable, Equatable {
  public var tenant: String?
  public var roles: String?

  public init(tenant: String? = nil, roles: String? = nil) {
    self.tenant = tenant
    self.roles = roles
  }
}

/// The claims of an ID token that the agent uses (OpenID Connect Core §2 and §5.1).
public struct IDTokenClaims: Sendable, Equatable {
  public var issuer: String?
  public var subject: String?
  /// In the order of the token, whether `aud` is a string or an array.
  public var audiences: [String]
  public var authorizedParty: String?
  public var expiresAt: Timestamp?
  public var notBefore: Timestamp?
  public var issuedAt: Timestamp?
  /// When the person signed in. Nil also for 0, which some servers write for "unknown", and for what is no time: a
  /// sign-in that asked for it refuses a token without it.
  public var authTime: Timestamp?
  public var nonce: String?
  public var authenticationContext: String?
  public var authenticationMethods: [String]
  public var sessionID: String?
  public var accessTokenHash: String?
  public var tenant: String?
  /// Microsoft's `tid`, which identifies the issuer at addresses for all tenants.
  public var tenantID: String?
  public var name: String?
  public var preferredUsername: String?
  public var email: String?
  /// Nil if the token has no roles claim, which differs from an empty list.
  public var roles: [String]?

  /// Reads the payload. A claim that a check uses must have the right type; a claim for display with a wrong type is
  /// dropped.
  ///
  /// - Throws: `IDTokenFailure.malformed`.
  public init(_ token: CompactJWT, names: ClaimNames = ClaimNames()) throws(IDTokenFailure) {
    self = try StrictJSON.object(token.payload, duplicateKeys: .allowed, isMended: true) {
      (claims) throws(IDTokenFailure) in
      // RFC 7519 §4: readers disagree on which of two claims counts. What stands below a claim that is not used is not
      // judged.
      let paths = [names.tenant, names.roles].compactMap { $0 }
      guard !claims.namesMemberTwice, !paths.contains(where: claims.isAmbiguous) else { throw .malformed }
      return try IDTokenClaims(claims, names)
    }
  }

  private init(_ claims: JSONNode, _ names: ClaimNames) throws(IDTokenFailure) {
    issuer = try Self.text(claims["iss"])
    subject = try Self.text(claims["sub"])
    audiences = try Self.texts(claims["aud"])
    authorizedParty = try Self.text(claims["azp"])
    expiresAt = try Self.moment(claims["exp"])
    notBefore = try Self.moment(claims["nbf"])
    issuedAt = try Self.moment(claims["iat"])
    authTime = (try? Self.moment(claims["auth_time"])).flatMap { $0.milliseconds == 0 ? nil : $0 }
    // An empty one is another nonce: it ties the token to a sign-in (OpenID Connect Core §12.2).
    nonce = try Self.anyText(claims["nonce"])
    authenticationContext = claims["acr"]?.string
    authenticationMethods = (try? Self.texts(claims["amr"])) ?? []
    sessionID = claims["sid"]?.string
    accessTokenHash = claims["at_hash"]?.string.flatMap { $0.isEmpty ? nil : $0 }
    tenant = try Self.optionalText(names.tenant.flatMap { claims.claim(at: $0[...]) })
    tenantID = try Self.optionalText(claims["tid"])
    name = claims["name"]?.string
    preferredUsername = claims["preferred_username"]?.string
    email = claims["email"]?.string
    roles = names.roles.flatMap { claims.claim(at: $0[...]) }?.names
  }

  /// An empty one says nothing.
  private static func text(_ node: JSONNode?) throws(IDTokenFailure) -> String? {
    try anyText(node).flatMap { $0.isEmpty ? nil : $0 }
  }

  private static func anyText(_ node: JSONNode?) throws(IDTokenFailure) -> String? {
    guard let node, node.kind != .null else { return nil }
    guard let text = node.string, !MendedText.isDoubtful(text) else { throw .malformed }
    return text
  }

  /// A text that identifies, where it is one.
  private static func optionalText(_ node: JSONNode?) throws(IDTokenFailure) -> String? {
    node?.kind == .string ? try text(node) : nil
  }

  private static func texts(_ node: JSONNode?) throws(IDTokenFailure) -> [String] {
    guard let node, node.kind != .null else { return [] }
    if let text = node.string { return [text] }
    guard node.kind == .array else { throw .malformed }
    var texts: [String] = []
    for element in node.elements where element.kind != .null {
      guard let text = element.string, !MendedText.isDoubtful(text) else { throw .malformed }
      texts.append(text)
    }
    return texts
  }

  /// A NumericDate: seconds since 1970, possibly with a fraction (RFC 7519 §2), up to the year 9999.
  private static func moment(_ node: JSONNode?) throws(IDTokenFailure) -> Timestamp? {
    guard let node, node.kind != .null else { return nil }
    guard let seconds = node.double, (0...253_402_300_799).contains(seconds) else { throw .malformed }
    return Timestamp(milliseconds: Int64((seconds * 1000).rounded(.down)))
  }
}

extension JSONNode {
  /// Names in a claim: an array, a single string, or the keys of an object (Zitadel).
  var names: [String]? {
    switch kind {
    case .array: elements.compactMap(\.string)
    case .string: string.map { [$0] }
    case .object: members.compactMap(\.key.string)
    default: nil
    }
  }

  /// The member named `path` in full, else the member at the path; longer names with dots take precedence.
  func claim(at path: Substring) -> JSONNode? {
    if let value = member(path) { return value }
    for dot in path.indices.reversed() where path[dot] == "." {
      if let inner = member(path[..<dot])?.claim(at: path[path.index(after: dot)...]) { return inner }
    }
    return nil
  }

  /// True if an object on the way to the claim at `path`, or in it, names a member twice.
  func isAmbiguous(at path: String) -> Bool {
    members.contains { key, value in
      guard let name = key.utf8, value.hasDuplicateKeys, path.utf8.starts(with: name) else { return false }
      return path.utf8.count == name.count || path.utf8.dropFirst(name.count).first == UInt8(ascii: ".")
    }
  }

  private func member(_ name: Substring) -> JSONNode? {
    for (key, value) in members where key.utf8?.elementsEqual(name.utf8) == true { return value }
    return nil
  }
}
