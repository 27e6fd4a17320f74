/// Where a credential stands in a request: the one rule for all senders (docs/secrets.md, Placement).
///
/// `writeField` and `writeTarget` write the bytes (`CredentialPlacing.swift`).
public enum SecretPlacement: Hashable, Sendable {
  /// In a header field of this name.
  case header(name: String, SecretTemplate)
  /// The password of HTTP Basic (RFC 7617), with this user name; nil: the account's.
  case basic(username: String?)
  /// The value of a parameter of the query.
  case query(name: String)
  /// Before the path.
  case path(SecretTemplate)

  /// A bearer token (RFC 6750 §2.1): what a provider has that says nothing else.
  public static let bearer = SecretPlacement.header(name: "Authorization", .bearer)

  /// A token that is bound to the key of a proof beside it (RFC 9449 §7.1).
  public static let dpop = SecretPlacement.header(name: "Authorization", SecretTemplate(before: "DPoP ", after: ""))

  /// From its members in the contract, with the contract's defaults; nil for what is none.
  public init?(in place: String?, name: String?, format: String?, username: String?) {
    switch (place, name, format.flatMap({ SecretTemplate($0) })) {
    case ("header", _, nil) where format != nil: return nil
    case ("header", _, let template): self = .header(name: name ?? "Authorization", template ?? .bearer)
    case ("basic", _, _): self = .basic(username: username)
    case ("query", let name?, _): self = .query(name: name)
    case ("path", _, let template?): self = .path(template)
    default: return nil
    }
  }

  /// This placement for an account; its own user name comes first.
  public func of(username: String?) -> SecretPlacement {
    guard case .basic(let given) = self else { return self }
    return .basic(username: username ?? given)
  }

  /// The user name of HTTP Basic; nil for every other placement.
  public var username: String? { if case .basic(let username) = self { username } else { nil } }

  /// The field in which the credential stands; nil if it stands in the URL.
  public var fieldName: String? {
    switch self {
    case .header(let name, _): name
    case .basic: "Authorization"
    case .query, .path: nil
    }
  }

  /// The credential is a part of the URL.
  public var isInURL: Bool { fieldName == nil }
}

extension SecretPlacement {
  /// Why a placement can't be used: its JSON Pointer within the placement, and what must stand there.
  public struct Refusal: Error, Hashable, Sendable {
    public var path: String
    public var expected: String

    public init(_ path: String, _ expected: String) { (self.path, self.expected) = (path, expected) }
  }

  /// - Throws: the refusal of a placement that servers or connections would read as something else.
  public func check() throws(Refusal) {
    switch self {
    case .header(let name, let template):
      guard FieldSyntax.isToken(name), !Self.isReserved(name) else {
        throw Refusal("/name", "a header field that is not of the connection, not Host and not Cookie")
      }
      guard (template.before + template.after).utf8.allSatisfy(FieldSyntax.isValue) else {
        throw Refusal("/format", "a value without control characters")
      }
    case .basic(let username): try Self.check(username: username)
    case .query(let name):
      guard !name.isEmpty, name.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F }) else {
        throw Refusal("/name", "the name of a parameter, without spaces")
      }
    case .path(let template):
      guard template.before.hasPrefix("/"), Self.isPath(template.before + template.after) else {
        throw Refusal("/format", "a path that begins with / and names {secret} once")
      }
    }
  }

  /// RFC 7617 §2: the first colon ends the user name.
  public static func check(username: String?) throws(Refusal) {
    guard let username else { return }
    guard username.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F && $0 != UInt8(ascii: ":") }) else {
      throw Refusal("/username", "a name without a colon and without control characters")
    }
  }

  /// Hop-by-hop (RFC 9110 §7.6.1) and framing fields, and those that name the server or another credential.
  private static func isReserved(_ name: String) -> Bool {
    // Servers of CGI take an underscore for a hyphen.
    let name = name.lowercased().replacing("_", with: "-")
    return name.hasPrefix("proxy-") || reserved.contains(name)
  }

  private static let reserved: Set<String> = [
    "connection", "content-length", "cookie", "cookie2", "expect", "host", "http2-settings", "keep-alive", "te",
    "trailer", "transfer-encoding", "upgrade",
  ]

  /// Nothing that ends the path or leaves it, nor what a server may read as a host.
  private static func isPath(_ text: String) -> Bool {
    let segments = text.split(separator: "/", omittingEmptySubsequences: false)
    return HTTPURL("https://path.example" + text)?.path == text && !text.hasPrefix("//") && !segments.contains("..")
      && !segments.contains(".")
  }
}

/// A text in which a secret stands once.
public struct SecretTemplate: Hashable, Sendable {
  public var before: String
  public var after: String

  /// The word for the secret.
  public static let word = "{secret}"

  public static let bearer = SecretTemplate(before: "Bearer ", after: "")

  public init(before: String, after: String) { (self.before, self.after) = (before, after) }

  /// Nil if the text does not name `{secret}` just once.
  public init?(_ text: String) {
    let parts = text.split(separator: Self.word, omittingEmptySubsequences: false)
    guard parts.count == 2 else { return nil }
    self.init(before: String(parts[0]), after: String(parts[1]))
  }

  public var text: String { before + Self.word + after }
}
