/// The certificate authorities that count, instead of the system's. Without both it is the system's.
public struct CertificateAuthorities: Hashable, Sendable {
  /// A PEM file.
  public var file: String?
  /// Directories in OpenSSL's form (`c_rehash`), with colons between.
  public var directory: String?

  public init(file: String? = nil, directory: String? = nil) {
    self.file = file
    self.directory = directory
  }

  /// Reads the variables that curl and OpenSSL know; `CURL_CA_BUNDLE` comes before `SSL_CERT_FILE`.
  public init(environment: (String) -> String?) {
    file = environment("CURL_CA_BUNDLE") ?? environment("SSL_CERT_FILE")
    directory = environment("SSL_CERT_DIR")
  }
}

/// How a request reaches its server, and what proves that it is the server.
public struct TrustSettings: Hashable, Sendable {
  public var authorities: CertificateAuthorities
  /// Public key pins that count now (`sha256/BASE64`, RFC 7469 §2.4): the server's key is one of them, in addition to a
  /// valid certificate. Empty: any key.
  public var pins: [String]
  /// `ProxyAddress`; nil: as the environment says (`https_proxy`, …). Never for loopback.
  public var proxy: String?
  /// Servers that are reached without the proxy (`ProxyExceptions`); nil: as the environment says (`no_proxy`).
  public var noProxy: [String]?

  public init(
    authorities: CertificateAuthorities = CertificateAuthorities(), pins: [String] = [], proxy: String? = nil,
    noProxy: [String]? = nil
  ) {
    self.authorities = authorities
    self.pins = pins
    self.proxy = proxy
    self.noProxy = noProxy
  }

  /// The proxy of a request; nil for none.
  ///
  /// - Parameter environment: the value of a variable, for what these settings leave to it. The names, and which comes
  ///   first, are curl's.
  public func proxy(to url: HTTPURL, environment: (String) -> String?) -> String? {
    func first(_ names: String...) -> String? { names.lazy.compactMap(environment).first { !$0.isEmpty } }
    guard !url.isLoopback, proxy != ProxyAddress.none else { return nil }
    let exceptions = ProxyExceptions(noProxy ?? [first("no_proxy", "NO_PROXY") ?? ""])
    guard !exceptions.cover(url) else { return nil }
    return proxy ?? first("https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY")
  }
}
