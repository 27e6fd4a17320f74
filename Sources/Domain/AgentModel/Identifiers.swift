/// The id of an account: `acc_` and 26 characters of Base32. It is never reused, also after the account signed out.
///
/// It is stored as integers, so that the reading thread compares ids without allocating a `String`. Two ids are equal
/// only if their texts are equal byte by byte.
public struct AccountID: Hashable, Comparable, Sendable {
  /// Number of random bytes in a new id.
  public static let byteCount = 16
  static let prefix = "acc_"
  /// Number of bytes of the text.
  public static let textByteCount = 30

  /// The 26 Base32 digits, five bits each: twelve digits, twelve digits and two digits.
  private let first, second: UInt64
  private let last: UInt16

  /// Makes an id from 16 random bytes; nil for any other count.
  public init?(bytes: [UInt8]) {
    guard bytes.count == Self.byteCount else { return nil }
    self.init(Self.prefix + Base32.encode(bytes))
  }

  /// Parses the text of the wire; nil if it is no account id.
  public init?(_ text: String) {
    var text = text
    let parsed = text.withUTF8 { AccountID(utf8: UnsafeRawBufferPointer($0)) }
    guard let parsed else { return nil }
    self = parsed
  }

  /// Parses the UTF-8 text of the wire without copying it; nil if it is no account id.
  public init?(utf8 text: UnsafeRawBufferPointer) {
    guard text.count == Self.textByteCount, text[0] == UInt8(ascii: "a"), text[1] == UInt8(ascii: "c"),
      text[2] == UInt8(ascii: "c"), text[3] == UInt8(ascii: "_"), let first = Self.number(text[4..<16]),
      let second = Self.number(text[16..<28]), let last = Self.number(text[28..<30])
    else { return nil }
    self.first = first
    self.second = second
    self.last = UInt16(truncatingIfNeeded: last)
  }

  /// The id as written on the wire.
  public var text: String {
    String(unsafeUninitializedCapacity: Self.textByteCount) { buffer in
      for (index, byte) in Self.prefix.utf8.enumerated() { buffer[index] = byte }
      Self.write(first, count: 12, to: buffer, at: 4)
      Self.write(second, count: 12, to: buffer, at: 16)
      Self.write(UInt64(last), count: 2, to: buffer, at: 28)
      return Self.textByteCount
    }
  }

  /// Ids are random, so `first` alone is a good hash.
  public func hash(into hasher: inout Hasher) { hasher.combine(first) }

  /// Orders ids as their texts are ordered.
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
  /// The name as the person wrote it.
  public let text: String

  /// Parses a name; nil unless it has 1 to 64 letters, digits, `.`, `_`, `@` or `-`, starts with a letter or digit, and
  /// does not start like an account id.
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

/// A request's reference to an account: its id, its alias, or `@active`. There is no default and no wildcard.
public enum AccountSelector: Hashable, Sendable {
  case id(AccountID)
  case alias(String)
  /// `@active`: the account that the person switched to.
  case active

  /// Parses the text of the wire. A text that is neither `@active` nor an id is an alias.
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
  /// The name as the person wrote it.
  public let text: String

  /// Parses a name; nil unless it has 1 to 64 lower-case letters, digits, `.`, `_` or `-` and starts with a letter or
  /// digit.
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

/// The person behind an account as the provider names them, or, at a server that names none, as the agent does
/// (`isUnproven`). Secrets and snapshots are kept by this key.
public struct Identity: Hashable, Sendable {
  /// `iss` of the ID token (OpenID Connect Core §2).
  public var issuer: String
  /// The tenant, for providers that serve several (`ProviderConfiguration.TenantRule`).
  public var tenant: String?
  /// `sub` of the ID token, unique within the issuer.
  public var subject: String

  public init(issuer: String, tenant: String?, subject: String) {
    self.issuer = issuer
    self.tenant = tenant
    self.subject = subject
  }

  /// Byte for byte, as `sub` and `iss` are compared: two spellings that look the same are two people.
  public static func == (a: Self, b: Self) -> Bool {
    equalCodePoints(a.subject, b.subject) && equalCodePoints(a.issuer, b.issuer) && equalCodePoints(a.tenant, b.tenant)
  }

  public func hash(into hasher: inout Hasher) {
    hasher.combine(ExactText(subject))
    hasher.combine(ExactText(issuer))
    hasher.combine(tenant.map(ExactText.init))
  }

  /// Begins the subject of an identity that the agent made.
  private static let unprovenPrefix = "unproven:"

  /// An identity that the agent makes for a sign-in at a server that names no person (docs/providers.md, Plain OAuth
  /// servers).
  public init(unproven random: [UInt8], issuer: String) {
    self.init(issuer: issuer, tenant: nil, subject: Self.unprovenPrefix + Base32.encode(random))
  }

  /// Begins the subject of a secret whose provider names no person.
  private static let secretPrefix = "secret:"

  /// The identity of a secret by a keyed digest of it, where the provider names no person (docs/secrets.md, Whose secret
  /// it is).
  public init(secret digest: [UInt8], issuer: String, tenant: String?) {
    self.init(issuer: issuer, tenant: tenant, subject: Self.secretPrefix + Base32.encode(digest))
  }

  /// True if the subject is a digest of the account's secret.
  public var isOfSecret: Bool { subject.utf8.starts(with: Self.secretPrefix.utf8) }

  /// True if the agent made the subject: nothing proves which person signed in. A provider's subject never is one.
  public var isUnproven: Bool { Self.isUnproven(subject) }

  /// True for a subject that only the agent makes, which a provider must not name.
  public static func isUnproven(_ subject: String) -> Bool { subject.utf8.starts(with: unprovenPrefix.utf8) }

  /// True for a subject that a provider may name: none that only the agent makes.
  public static func canBeNamed(_ subject: String) -> Bool {
    !isUnproven(subject) && !subject.utf8.starts(with: secretPrefix.utf8) && !subject.isEmpty
      && subject.unicodeScalars.count <= longestSubject
  }

  /// In code points: the bound of the contract.
  private static let longestSubject = 256
}

/// A set of OAuth scopes (RFC 6749 §3.3: order carries no meaning).
public struct ScopeSet: Hashable, Sendable {
  /// The scopes, sorted and without duplicates.
  public let names: [String]
  /// The provider told others beside `names`, which are not kept (`init(told:)`): they are within no limit.
  public let lacksSome: Bool

  public init(_ names: some Sequence<String>, lacksSome: Bool = false) {
    self.names = Set(names).sorted()
    self.lacksSome = lacksSome
  }

  /// Parses the space-delimited form of the wire.
  public init(spaceDelimited text: String) {
    self.init(text.split(separator: " ").map(String.init))
  }

  /// The longest name of a scope, and the most names, that the contract has.
  public static let (longestName, mostNames) = (256, 128)

  /// What stands between the scopes of a provider's answer: spaces (RFC 6749 §3.3), or commas as well.
  public enum Separators: Hashable, Sendable { case spaces, spacesAndCommas }

  /// Reads what a provider's answer names: scope tokens of RFC 6749 §3.3 alone, within the contract's bounds.
  public init(told text: String, _ separators: Separators = .spaces) {
    let words = text.split { $0 == " " || separators == .spacesAndCommas && $0 == "," }
    let names = ScopeSet(words.filter(Self.isName).map { String($0) }).names
    self.init(names.prefix(Self.mostNames), lacksSome: names.count > Self.mostNames || !words.allSatisfy(Self.isName))
  }

  /// The scopes of an answer that tells these: `asked` if it names none that can be kept, as if it named none.
  public static func granted(_ told: ScopeSet?, orAsked asked: ScopeSet) -> ScopeSet {
    guard let told else { return asked }
    return told.isEmpty && told.lacksSome ? ScopeSet(asked.names, lacksSome: true) : told
  }

  /// True if there is no scope beside those of `limit`.
  public func isWithin(_ limit: Set<String>) -> Bool { !lacksSome && names.allSatisfy(limit.containsExactly) }

  /// A scope token of RFC 6749 §3.3: printable ASCII without quotes and backslashes.
  public static func isName(_ text: some StringProtocol) -> Bool {
    (1...longestName).contains(text.utf8.count)
      && text.utf8.allSatisfy { (0x21...0x7E).contains($0) && $0 != 0x22 && $0 != 0x5C }
  }

  /// The space-delimited form of the wire.
  public var spaceDelimited: String { names.joined(separator: " ") }
  /// True if there are no scopes.
  public var isEmpty: Bool { names.isEmpty }

  /// True if `other` contains all of these scopes.
  public func isSubset(of other: ScopeSet) -> Bool { !lacksSome && Set(names).isSubset(of: other.names) }
}

/// Identifies an access token of a grant: the default token, or one requested for a resource or with fewer scopes.
public struct TokenKey: Hashable, Sendable {
  /// The resource indicator (RFC 8707 §2); nil for the default audience.
  public var resource: String?
  /// The requested scopes; nil for all granted scopes.
  public var scopes: ScopeSet?

  public init(resource: String? = nil, scopes: ScopeSet? = nil) {
    self.resource = resource
    self.scopes = scopes
  }

  /// The token for the default audience and all granted scopes.
  public static let standard = TokenKey()
}
