public import AgentModel

/// Where to look for the issuer that a URL of a server belongs to (docs/providers.md, Finding the issuer).
public struct IssuerSearch: Sendable {
  /// A possible issuer.
  public struct Place: Sendable, Equatable {
    /// Without a slash at its end.
    public let address: String
    /// Its documents, in the order of RFC 8414 §3.1 and §5 and OpenID Connect Discovery §4.
    public let documents: [String]
  }

  /// What the issuer in a document says of the place that the document is of.
  public enum Verdict: Sendable, Equatable {
    /// The document is the issuer's own. As written there.
    case itself(String)
    /// It names another issuer of the same origin, which has to confirm that.
    case sameOrigin(String)
    /// It names an issuer of another origin.
    case elsewhere(String)
    /// It names no issuer that the agent could use.
    case none
  }

  public let url: HTTPURL
  /// The provider that the host is known to be of.
  public let preset: ProviderPreset?
  /// Nearest first.
  public let places: [Place]

  /// A deeper page is looked for from here up.
  private static let deepestPath = 6
  private static let wellKnown = ".well-known"

  /// Nil unless the text is an https URL, or http of this machine.
  public init?(_ text: String) {
    guard let url = HTTPURL(String(text.prefix { $0 != "#" })), url.scheme == .https || url.isLoopback else {
      return nil
    }
    self.url = url
    preset = ProviderPreset.all.first { $0.isKnown(by: url.host) }
    if let issuer = preset?.issuer {
      places = [Self.place(issuer)].compactMap { $0 }
      return
    }
    let segments = url.path.split(separator: "/").map(String.init)
    var addresses: [String] = []
    let usual = preset?.issuerTemplate.flatMap { Self.address(like: $0, at: url, segments) }
    if let index = segments.firstIndex(of: Self.wellKnown) {
      // RFC 8414 puts the issuer's path behind the well-known part, OpenID Connect Discovery before it.
      let (before, after) = (segments[..<index], segments.dropFirst(index + 2))
      if !after.isEmpty { addresses.append(Self.address(url, after)) }
      addresses += [Self.address(url, before)] + (usual.map { [$0] } ?? [])
    } else {
      for count in stride(from: min(segments.count, Self.deepestPath), through: 0, by: -1) {
        addresses.append(Self.address(url, segments[..<count]))
      }
      // The usual place at this provider, unless the URL names another one beside it, as an authorization server of Okta.
      let isBeside = preset?.issuerTemplate?.split(separator: "/").dropFirst(2).first.map(String.init) == segments.first
      if let usual { addresses.insert(usual, at: isBeside && !segments.isEmpty ? addresses.count - 1 : 0) }
    }
    var seen: Set<String> = []
    places = addresses.filter { seen.insert($0).inserted }.compactMap(Self.place)
  }

  /// What a document of `place` says, whose `issuer` is `told`.
  public func verdict(on told: String, at place: Place) -> Verdict {
    if let pattern = preset?.issuerPattern(at: place.address), pattern.covers(told) { return .itself(place.address) }
    guard let issuer = HTTPURL(told), issuer.query == nil, issuer.scheme == .https || issuer.isLoopback else {
      return .none
    }
    if Self.withoutSlash(issuer.text) == place.address { return .itself(told) }
    if issuer.origin == url.origin { return .sameOrigin(told) }
    // A server of the network has no business with what listens on this machine.
    return issuer.isLoopback && !url.isLoopback ? .none : .elsewhere(told)
  }

  private static func place(_ address: String) -> Place? {
    guard let url = HTTPURL(address) else { return nil }
    let path = withoutSlash(url.path)
    var documents = ["\(url.origin)/\(wellKnown)/oauth-authorization-server\(path)"]
    if !path.isEmpty { documents.append("\(url.origin)/\(wellKnown)/openid-configuration\(path)") }
    documents.append("\(url.origin)\(path)/\(wellKnown)/openid-configuration")
    return Place(address: withoutSlash(url.text), documents: documents)
  }

  private static func address(_ url: HTTPURL, _ segments: some Collection<String>) -> String {
    url.origin + segments.map { "/" + $0 }.joined()
  }

  /// The path of the template, with words taken from the URL: `/TENANT-ID/v2.0` for `/acme/oauth2/authorize`.
  private static func address(like template: String, at url: HTTPURL, _ segments: [String]) -> String? {
    var path = template.split(separator: "/").dropFirst(2).map(String.init)
    for (index, segment) in path.enumerated() where segment.allSatisfy({ $0.isUppercase || $0 == "-" }) {
      guard segments.indices.contains(index), segments[index] != wellKnown else { return nil }
      path[index] = segments[index]
    }
    return address(url, path)
  }

  private static func withoutSlash(_ text: String) -> String { text.hasSuffix("/") ? String(text.dropLast()) : text }
}
