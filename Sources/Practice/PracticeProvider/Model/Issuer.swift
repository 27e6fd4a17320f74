import Foundation

/// The issuer and the URLs of its endpoints.
struct Issuer: Sendable {
  let identifier: String
  /// The path of the identifier, without a slash at its end: empty, or `/realms/acme`.
  let basePath: String
  private let base: String

  /// - Parameter endsInSlash: the identifier has a slash at its end, as at some servers.
  init(_ identifier: String, endsInSlash: Bool = false) {
    let text = identifier.hasSuffix("/") ? String(identifier.dropLast()) : identifier
    let afterScheme = text.range(of: "://").map { text[$0.upperBound...] } ?? ""
    self.identifier = endsInSlash ? text + "/" : text
    base = text
    basePath = afterScheme.firstIndex(of: "/").map { String(afterScheme[$0...]) } ?? ""
  }

  static let authorizationServerMetadata = "/.well-known/oauth-authorization-server"

  /// The path below the issuer, or nil if the request is for another path. RFC 8414 section 3.1 puts its document
  /// before the issuer's path, OpenID Discovery behind it; many servers serve both documents at both places.
  func localPath(of path: String) -> String? {
    if basePath.isEmpty || path.hasPrefix("/practice/") { return path }
    if path == Self.authorizationServerMetadata + basePath { return Self.authorizationServerMetadata }
    guard path.hasPrefix(basePath + "/") else { return nil }
    return String(path.dropFirst(basePath.count))
  }

  /// The identifier with `part` in place of the first part of its path.
  func ofTenant(_ tenant: String) -> String {
    let rest = basePath.dropFirst().drop { $0 != "/" }
    return "\(origin)/\(tenant)\(rest)"
  }

  var origin: String { String(base.dropLast(basePath.count)) }

  func endpoint(_ path: String) -> String { base + path }
}
