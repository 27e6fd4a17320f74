public import AgentModel

/// The origins to which a proxy lets a program through without a token (docs/proxy.md, What passes).
public struct PassedOrigins: Hashable, Sendable {
  /// The word for every origin whose address is public.
  public static let any = "*"

  /// In normal form.
  public let named: Set<String>
  /// Every origin passes whose address is public and that no account serves.
  public let isAny: Bool

  /// Nothing passes.
  public init() { (named, isAny) = ([], false) }

  /// - Parameter texts: origins and `*`; what is neither passes nothing.
  public init(_ texts: some Sequence<String>) {
    let texts = texts.compactMap { Self.normal($0) }
    named = Set(texts).subtracting([Self.any])
    isAny = texts.contains(Self.any)
  }

  /// `*`, or an origin in normal form: `http` or `https`, a host and a port, without a path. Nil for anything else.
  public static func normal(_ text: String) -> String? {
    if text == any { return any }
    guard let url = HTTPURL(text), url.path == "/", url.query == nil else { return nil }
    return url.origin
  }

  /// The origins, and `*`, sorted.
  public var texts: [String] { named.sorted() + (isAny ? [Self.any] : []) }

  public var isEmpty: Bool { named.isEmpty && !isAny }

  /// By which word an origin passes.
  public enum Basis: String, Hashable, Sendable {
    /// It is named: whatever its address is.
    case named
    /// By `*`: only at a public address.
    case any
  }

  /// Nil for an origin that does not pass.
  ///
  /// - Parameter served: the origins of all accounts of the agent, in normal form: under `*` none of them passes.
  public func basis(of origin: HTTPURL, served: Set<String> = []) -> Basis? {
    if named.contains(origin.origin) { return .named }
    guard isAny, !Self.isServed(origin, by: served), !PublicAddress.isSpecial(host: origin.host) else { return nil }
    return .any
  }

  /// True if an origin is one of these, or the same server by an address of IPv6 that leads to one of IPv4.
  ///
  /// - Parameter origins: in normal form.
  public static func isServed(_ origin: HTTPURL, by origins: some Collection<String>) -> Bool {
    if origins.contains(origin.origin) { return true }
    guard let address = PublicAddress.ipv4(host: origin.host) else { return false }
    return origins.contains { other in
      guard let other = HTTPURL(other), other.scheme == origin.scheme, other.port == origin.port else { return false }
      return PublicAddress.ipv4(host: other.host) == address
    }
  }

  /// The origins that pass by both.
  public func narrowed(to other: PassedOrigins) -> PassedOrigins {
    func within(_ one: PassedOrigins, _ other: PassedOrigins) -> [String] {
      one.named.filter { other.named.contains($0) || HTTPURL($0).map { other.basis(of: $0) != nil } ?? false }
    }
    return PassedOrigins(within(self, other) + within(other, self) + (isAny && other.isAny ? [Self.any] : []))
  }

  /// True if `other` lets through all that this does.
  public func isWithin(_ other: PassedOrigins) -> Bool { narrowed(to: other) == self }
}
