/// What holds for all requests of an `HTTPClient`.
public struct HTTPClientSettings: Hashable, Sendable {
  /// A PEM file with the authorities that count, instead of the system's.
  public var authorityFile: String?
  /// A directory in OpenSSL's form (`c_rehash`), beside or instead of the file.
  public var authorityDirectory: String?
  /// `ProxyAddress`; nil: as the environment says (`https_proxy`, `no_proxy`, …). Never for loopback.
  public var proxy: String?
  /// HTTP/2 where a TLS server offers it.
  public var allowsHTTP2 = true
  /// A kept connection that is idle for longer is not used: the server may be about to close it, and a request is never
  /// sent twice. Common servers close theirs after 5 s.
  public var longestIdleSeconds = 3
  /// More idle connections than these are closed, the oldest first.
  public var maximumIdleConnections = 8

  /// The defaults.
  public init() {}

  /// Reads the variables that curl and OpenSSL know; `CURL_CA_BUNDLE` comes before `SSL_CERT_FILE`. Proxy variables are
  /// left to libcurl.
  public init(environment: (String) -> String?) {
    authorityFile = environment("CURL_CA_BUNDLE") ?? environment("SSL_CERT_FILE")
    authorityDirectory = environment("SSL_CERT_DIR")
  }
}
