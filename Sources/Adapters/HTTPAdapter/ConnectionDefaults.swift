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
}

/// What holds for requests that name neither authorities nor a proxy, and for all of them where it is enforced.
public struct ConnectionDefaults: Hashable, Sendable {
  public var authorities: CertificateAuthorities
  /// `ProxyAddress`; nil: as the environment says (`https_proxy`, `no_proxy`, …).
  public var proxy: String?
  /// True if `authorities` count for requests that name others, too.
  public var enforcesAuthorities = false
  /// True if `proxy` counts for requests that name another one, too.
  public var enforcesProxy = false

  public init(authorities: CertificateAuthorities = .init(), proxy: String? = nil) {
    self.authorities = authorities
    self.proxy = proxy
  }

  /// Reads the variables that curl and OpenSSL know; `CURL_CA_BUNDLE` comes before `SSL_CERT_FILE`. Proxy variables are
  /// left to libcurl.
  public init(environment: (String) -> String?) {
    self.init(
      authorities: CertificateAuthorities(
        file: environment("CURL_CA_BUNDLE") ?? environment("SSL_CERT_FILE"), directory: environment("SSL_CERT_DIR")))
  }

  /// The authorities for a request that names this file, or none.
  func authorities(for file: String?) -> CertificateAuthorities {
    guard let file, !enforcesAuthorities else { return authorities }
    return CertificateAuthorities(file: file)
  }
}
