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
}
