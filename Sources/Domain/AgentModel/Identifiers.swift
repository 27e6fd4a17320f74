/// `acc_` and 26 characters of base32: names one identity for ever, also after it signed out.
public struct AccountID: Hashable, Comparable, Sendable {
  public static let byteCount = 16
  static let prefix = "acc_"

  public let text: String

  /// From 16 random bytes.
  public init?(bytes: [UInt8]) {
    guard bytes.count == Self.byteCount else { return nil }
    text = Self.prefix + Base32.encode(bytes)
  }

  /// Parses the text of the wire.
  public init?(_ text: String) {
    guard text.hasPrefix(Self.prefix), text.utf8.count == Self.prefix.utf8.count + 26,
      text.utf8.dropFirst(Self.prefix.utf8.count).allSatisfy(Self.isBase32Digit)
    else { return nil }
    self.text = text
  }

  public static func < (a: AccountID, b: AccountID) -> Bool { a.text < b.text }

  private static func isBase32Digit(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) || (UInt8(ascii: "2")...UInt8(ascii: "7")).contains(byte)
  }
}

/// A short name that a person gives to an account.
public struct Alias: Hashable, Comparable, Sendable {
  public let text: String

  /// One to 64 letters, digits, `.`, `_`, `@`, `-`, beginning with a letter or digit, and not looking like an id.
  public init?(_ text: String) {
    guard (1...64).contains(text.utf8.count), !text.hasPrefix(AccountID.prefix),
      let first = text.utf8.first, Self.isAlphanumeric(first),
      text.utf8.allSatisfy({ Self.isAlphanumeric($0) || "._@-".utf8.contains($0) })
    else { return nil }
    self.text = text
  }

  static func isAlphanumeric(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
      UInt8(ascii: "A")...UInt8(ascii: "Z"):
      true
    default: false
    }
  }

  public static func < (a: Alias, b: Alias) -> Bool { a.text < b.text }
}

/// How a caller names an account. There is no default and no wildcard.
public enum AccountSelector: Hashable, Sendable {
  case id(AccountID)
  case alias(String)
  case active

  public init(_ text: String) {
    if text == "@active" {
      self = .active
    } else if let id = AccountID(text) {
      self = .id(id)
    } else {
      self = .alias(text)
    }
  }
}

/// The name under which a provider is configured.
public struct ProviderName: Hashable, Comparable, Sendable {
  public let text: String

  /// One to 64 lower-case letters, digits, `.`, `_`, `-`, beginning with a letter or digit.
  public init?(_ text: String) {
    func plain(_ byte: UInt8) -> Bool {
      Alias.isAlphanumeric(byte) && !(UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte)
    }
    guard (1...64).contains(text.utf8.count), let first = text.utf8.first, plain(first),
      text.utf8.allSatisfy({ plain($0) || "._-".utf8.contains($0) })
    else { return nil }
    self.text = text
  }

  public static func < (a: ProviderName, b: ProviderName) -> Bool { a.text < b.text }
}

/// Whom an account is, to its provider: the key by which secrets and snapshots are parted.
public struct Identity: Hashable, Sendable {
  public var issuer: String
  public var tenant: String?
  public var subject: String

  public init(issuer: String, tenant: String?, subject: String) {
    self.issuer = issuer
    self.tenant = tenant
    self.subject = subject
  }
}

/// Scopes as a set with one spelling: sorted, without doubles (RFC 6749 §3.3: order does not matter).
public struct ScopeSet: Hashable, Sendable {
  public let names: [String]

  public init(_ names: some Sequence<String>) { self.names = Set(names).sorted() }

  /// From the space-delimited form of the wire.
  public init(spaceDelimited text: String) {
    self.init(text.split(separator: " ").map(String.init))
  }

  public var spaceDelimited: String { names.joined(separator: " ") }
  public var isEmpty: Bool { names.isEmpty }

  public func isSubset(of other: ScopeSet) -> Bool { Set(names).isSubset(of: other.names) }
}

/// Which access token of a grant: the default one, or one asked for a resource or with fewer scopes.
public struct TokenKey: Hashable, Sendable {
  public var resource: String?
  public var scopes: ScopeSet?

  public init(resource: String? = nil, scopes: ScopeSet? = nil) {
    self.resource = resource
    self.scopes = scopes
  }

  public static let standard = TokenKey()
}
