import Foundation
import LoopbackHTTP

/// Compares redirect URIs.
package enum RedirectURI {
  /// Exact comparison (RFC 9700 section 2.1), except that the port of a loopback URI may be any (RFC 8252 section 7.3).
  package static func matches(_ requested: String, registered: String) -> Bool {
    if requested == registered { return true }
    guard let left = loopbackParts(requested), let right = loopbackParts(registered) else { return false }
    return left == right
  }

  /// The source expression that a page's Content-Security-Policy must allow for a form that ends in a redirect there.
  static func formTarget(_ uri: String) -> String? {
    guard let end = uri.range(of: "://") else { return uri.firstIndex(of: ":").map { String(uri[...$0]) } }
    let origin = uri[..<(uri[end.upperBound...].firstIndex { "/?#".contains($0) } ?? uri.endIndex)]
    return origin.contains { $0 == ";" || $0 == "," || $0 == " " || $0 == "'" } ? nil : String(origin)
  }

  static func isLoopback(_ uri: String) -> Bool { loopbackParts(uri) != nil }

  /// The host and the part after the port, for an `http` URI on a loopback host.
  private static func loopbackParts(_ uri: String) -> [String]? {
    guard uri.hasPrefix("http://"), !uri.contains("#") else { return nil }
    let rest = uri.dropFirst("http://".count)
    let end = rest.firstIndex { $0 == "/" || $0 == "?" } ?? rest.endIndex
    let authority = String(rest[..<end])
    guard LoopbackAddress.isLoopback(authority: authority) else { return nil }
    let path = rest[end...]
    return [hostOf(authority), path.isEmpty ? "/" : String(path)]
  }

  private static func hostOf(_ authority: String) -> String {
    if authority.hasPrefix("["), let bracket = authority.firstIndex(of: "]") { return String(authority[...bracket]) }
    return String(authority.prefix { $0 != ":" })
  }
}
