/// `acc_` and 26 characters of base32: names one identity for ever, also after it signed out.
///
/// Stored as numbers, so that the reading thread finds an account without a `String`. Two texts are one id only if they
/// are equal byte by byte.
public struct AccountID: Hashable, Comparable, Sendable {
  /// The random bytes of a new id.
  public static let byteCount = 16
  static let prefix = "acc_"
  private static let textBytes = 30

  /// The 26 digits of base 32, five bits each: twelve, twelve and two.
  private let first, second: UInt64
  private let last: UInt16

  /// From 16 random bytes.
  public init?(bytes: [UInt8]) {
    guard bytes.count == Self.byteCount else { return nil }
    self.init(Self.prefix + Base32.encode(bytes))
  }

  /// Parses the text of the wire.
  public init?(_ text: String) {
    var text = text
    let parsed = text.withUTF8 { AccountID(utf8: UnsafeRawBufferPointer($0)) }
    guard let parsed else { return nil }
    self = parsed
  }

  /// Parses the UTF-8 text of the wire.
  public init?(utf8 text: UnsafeRawBufferPointer) {
    guard text.count == Self.textBytes, text[0] == UInt8(ascii: "a"), text[1] == UInt8(ascii: "c"),
      text[2] == UInt8(ascii: "c"), text[3] == UInt8(ascii: "_"), let first = Self.number(text[4..<16]),
      let second = Self.number(text[16..<28]), let last = Self.number(text[28..<30])
    else { return nil }
    self.first = first
    self.second = second
    self.last = UInt16(truncatingIfNeeded: last)
  }

  /// The text of the wire.
  public var text: String {
    String(unsafeUninitializedCapacity: Self.textBytes) { buffer in
      for (index, byte) in Self.prefix.utf8.enumerated() { buffer[index] = byte }
      Self.write(first, count: 12, to: buffer, at: 4)
      Self.write(second, count: 12, to: buffer, at: 16)
      Self.write(UInt64(last), count: 2, to: buffer, at: 28)
      return Self.textBytes
    }
  }

  /// Ids are random: a part of one is as good a hash as the whole.
  public func hash(into hasher: inout Hasher) { hasher.combine(first) }

  /// The order of the texts.
  public static func < (a: AccountID, b: AccountID) -> Bool { a.text < b.text }

  private static func number(_ digits: Slice<UnsafeRawBufferPointer>) -> UInt64? {
    var number: UInt64 = 0
    for byte in digits {
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"): number = number << 5 | UInt64(byte - UInt8(ascii: "a"))
      case UInt8(ascii: "2")...UInt8(ascii: "7"): number = number << 5 | UInt64(byte - UInt8(ascii: "2") + 26)
      default: return nil
      }
    }
    return number
  }

  private static func write(
    _ number: UInt64, count: Int, to buffer: UnsafeMutableBufferPointer<UInt8>, at start: Int
  ) {
    for index in 0..<count {
      let digit = UInt8(truncatingIfNeeded: number >> (5 * UInt64(count - 1 - index)) & 31)
      buffer[start + index] = digit < 26 ? UInt8(ascii: "a") + digit : UInt8(ascii: "2") + (digit - 26)
    }
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
