public import AgentModel
internal import JSONRPC

/// The metadata of a protected resource (RFC 9728).
public struct ResourceMetadata: Equatable, Sendable {
  /// As it was written: it goes to the authorization server unchanged.
  public var resource: String
  /// Issuers, in the order of the document.
  public var authorizationServers: [String]
  /// Nil if the document does not say.
  public var scopes: [String]?

  /// The largest document in bytes, as of every document of a provider.
  public static let maximumBytes = 1 << 20
  private static let maximumItems = 64

  /// Why a document can't be used.
  public enum Failure: Error, Equatable, Sendable {
    /// It is no JSON object with `resource` and `authorization_servers`.
    case malformed
    /// It is for another resource.
    case otherResource
    /// Its authorization server is on this machine, and the resource is not.
    case localAuthorizationServer
  }

  /// Where a document may be.
  public struct Place: Equatable, Sendable {
    public var url: HTTPURL
    /// The server named it, so that no other place is tried.
    public var isNamed: Bool
  }

  /// The places of the document, in the order of MCP (Protected Resource Metadata Discovery Requirements). Empty if the
  /// server named one that may not be read: neither https, nor on this machine as the server itself is.
  public static func places(for server: HTTPURL, named: String?) -> [Place] {
    guard let named else {
      let path = server.path == "/" ? "" : server.path
      let paths = path.isEmpty ? [wellKnown] : [wellKnown + path, wellKnown]
      return paths.compactMap { HTTPURL(server.origin + $0) }.map { Place(url: $0, isNamed: false) }
    }
    guard let url = HTTPURL(named),
      url.scheme == .https && !(url.isLoopback && !server.isLoopback)
        || url.isLoopback && server.isLoopback
    else { return [] }
    return [Place(url: url, isNamed: true)]
  }

  private static let wellKnown = "/.well-known/oauth-protected-resource"

  /// Reads the document that came from `place`.
  ///
  /// `resource` must be the server's URL (RFC 9728 §3.3). The document of a resource above it counts, too, where it was
  /// read at that resource's own well-known place: MCP has clients look at the root.
  public init(_ bytes: UnsafeRawBufferPointer, from place: Place, of server: HTTPURL) throws(Failure) {
    let read = MendedText.read(bytes) { root -> ResourceMetadata? in
      guard root.kind == .object, let resource = root["resource"]?.string, let servers = root["authorization_servers"]
      else { return nil }
      let issuers = servers.string.map { [$0] } ?? servers.elements.prefix(Self.maximumItems).compactMap(\.string)
      guard !issuers.isEmpty else { return nil }
      let scopes = root["scopes_supported"].flatMap { list in
        list.kind == .array
          ? list.elements.prefix(Self.maximumItems).compactMap(\.string).filter { ScopeChoice.isScope($0) } : nil
      }
      return ResourceMetadata(resource: resource, authorizationServers: issuers, scopes: scopes)
    }
    guard let read else { throw .malformed }
    guard read.covers(server, from: place) else { throw .otherResource }
    guard server.isLoopback || HTTPURL(read.authorizationServers[0])?.isLoopback != true else {
      throw .localAuthorizationServer
    }
    self = read
  }

  init(resource: String, authorizationServers: [String], scopes: [String]?) {
    self.resource = resource
    self.authorizationServers = authorizationServers
    self.scopes = scopes
  }

  private func covers(_ server: HTTPURL, from place: Place) -> Bool {
    // An authorization server could compare the text as it stands: `…/other/../mcp` begins with another resource.
    guard let url = HTTPURL(resource), !Resource.hasDotSegments(resource) else { return false }
    if Resource.isSame(url, server) { return true }
    let own = Self.places(for: url, named: nil).first?.url
    return Resource.isAbove(url, server) && place.url == own
  }
}

/// Compares the identifiers of resources.
public enum Resource {
  /// The same URL in normal form; a slash at the end of the path makes no difference.
  public static func isSame(_ one: HTTPURL, _ other: HTTPURL) -> Bool {
    one.origin == other.origin && trimmed(one.path) == trimmed(other.path) && one.query == other.query
  }

  /// `one` is at a whole segment above `other`.
  public static func isAbove(_ one: HTTPURL, _ other: HTTPURL) -> Bool {
    one.origin == other.origin && one.query == nil && trimmed(other.path).hasPrefix(trimmed(one.path) + "/")
  }

  /// Its path has segments that the normal form does not have (RFC 3986 §6.2.2.3).
  static func hasDotSegments(_ text: String) -> Bool {
    text.prefix { $0 != "?" }.split(separator: "/").contains { segment in
      [".", "..", "%2e", ".%2e", "%2e.", "%2e%2e"].contains(segment.lowercased())
    }
  }

  private static func trimmed(_ path: String) -> String { path.hasSuffix("/") ? String(path.dropLast()) : path }
}
