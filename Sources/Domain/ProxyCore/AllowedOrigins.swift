internal import AgentCore
public import AgentModel

/// The origins to which a proxy forwards, fixed at its start: those of the accounts that it serves.
public struct AllowedOrigins: Hashable, Sendable {
  /// In normal form, sorted.
  public let all: [String]

  public init(_ origins: some Sequence<String>) { all = Set(RequestTarget.origins(Array(origins))).sorted() }

  public func contains(_ url: HTTPURL) -> Bool { all.contains(url.origin) }

  /// The origin that a tunnel leads to: that of `https`, unless only the one of `http` is allowed at this host and port.
  /// RFC 6455 section 4.1: a client opens a tunnel for a WebSocket without TLS, too.
  public func tunnelled(to origin: HTTPURL) -> HTTPURL {
    guard !contains(origin), let plain = HTTPURL("http://\(origin.hostText):\(origin.port)"), contains(plain) else {
      return origin
    }
    return plain
  }

  /// The origins that are in both.
  public func narrowed(to others: some Sequence<String>) -> AllowedOrigins {
    let others = RequestTarget.origins(Array(others))
    return AllowedOrigins(all.filter { others.contains($0) })
  }

  /// The hosts for which a certificate may be made: those of `https`.
  public var hosts: [String] {
    Set(all.compactMap { HTTPURL($0) }.filter { $0.scheme == .https }.map(\.host)).sorted()
  }

  /// - Parameter isOfGrant: the proxy serves a grant, beside which `--pass` only narrows.
  /// - Throws: the refusal of an origin that is not among them.
  public func check(_ url: HTTPURL, isOfGrant: Bool) throws(Refusal) {
    guard !contains(url) else { return }
    let pass =
      isOfGrant ? "a grant with --pass lets it through (`lanyard help grant create`)" : "--pass lets it through"
    throw Refusal(
      403, "originNotAllowed",
      """
      \(url.origin) is not among the origins of this proxy: \(shown). Nothing was sent. For the accounts of a provider, \
      `lanyard provider update NAME --allowed-origin ORIGIN` lists it beside the others; without a token, \
      \(pass). Then start the proxy again.
      """)
  }

  private static let mostShown = 5

  private var shown: String {
    guard !all.isEmpty else { return "it has none" }
    let rest = all.count - Self.mostShown
    return all.prefix(Self.mostShown).joined(separator: ", ") + (rest > 0 ? " and \(rest) more" : "")
  }
}
