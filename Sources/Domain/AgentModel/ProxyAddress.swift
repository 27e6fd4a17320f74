/// The address of a proxy in a configuration.
public enum ProxyAddress {
  /// The word for no proxy, also where the environment names one.
  public static let none = "none"

  private static let schemes = ["http", "https", "socks5", "socks5h"]

  /// True for `none`, and for a scheme, a host and a port without a path. No user information: a password must not
  /// stand in a configuration that any caller may read.
  public static func isValid(_ text: String) -> Bool {
    if text == none { return true }
    guard let mark = text.firstRange(of: "://"), schemes.contains(String(text[..<mark.lowerBound])) else {
      return false
    }
    let authority = text[mark.upperBound...]
    guard !authority.contains("/"), !authority.contains("?") else { return false }
    return HTTPURL("http://\(authority)/") != nil
  }

  /// The scheme, the host and the port: what is shown of an address in the environment, which may have a password, also one
  /// with characters that should be encoded.
  public static func shown(_ text: String) -> String {
    let scheme = text.firstRange(of: "://").map { String(text[..<$0.upperBound]) } ?? "http://"
    let rest = withoutScheme(text)
    let place = rest.lastIndex(of: "@").map { rest[rest.index(after: $0)...] } ?? rest
    return scheme + place.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
  }

  /// Whether the address has a name, or a name with a password.
  public static func hasCredentials(_ text: String) -> Bool { withoutScheme(text).contains("@") }

  private static func withoutScheme(_ text: String) -> Substring {
    text.firstRange(of: "://").map { text[$0.upperBound...] } ?? text[...]
  }
}
