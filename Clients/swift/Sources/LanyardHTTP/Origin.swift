internal import Foundation

/// The scheme, host and port of a URL (RFC 6454 §4).
struct Origin: Hashable, Sendable {
  let scheme: String
  let host: String
  let port: Int

  /// Nil if the URL has no origin for HTTP, or names a user.
  init?(_ url: URL) {
    guard let parts = URLComponents(url: url, resolvingAgainstBaseURL: true), parts.user == nil, parts.password == nil,
      let scheme = parts.scheme?.lowercased(), let usualPort = ["http": 80, "https": 443][scheme],
      let host = parts.host?.lowercased(), !host.isEmpty
    else { return nil }
    self.scheme = scheme
    self.host = host.trimmingCharacters(in: ["[", "]"])
    port = parts.port ?? usualPort
  }

  init?(_ text: String) {
    guard let url = URL(string: text), url.path.isEmpty || url.path == "/" else { return nil }
    self.init(url)
  }

  /// True if a token may go there: over TLS, or within this machine.
  var isSafe: Bool { scheme == "https" || isLoopback }

  private var isLoopback: Bool {
    if host == "localhost" || host == "::1" { return true }
    let parts = host.split(separator: ".", omittingEmptySubsequences: false)
    return parts.count == 4 && parts[0] == "127"
      && parts.allSatisfy { part in part.allSatisfy(\.isASCII) && UInt8(part).map { String($0) == part } == true }
  }
}
