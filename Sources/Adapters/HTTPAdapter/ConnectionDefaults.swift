public import AgentModel
package import AgentPorts

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

  /// The authorities that the environment names. Proxy variables are left to libcurl.
  public init(environment: (String) -> String?) {
    self.init(authorities: CertificateAuthorities(environment: environment))
  }

  /// What counts for a request. No variable excepts a server from a proxy that is enforced.
  package func trust(of request: HTTPRequest) -> TrustSettings {
    let own = enforcesAuthorities ? nil : request.certificateAuthorities
    return TrustSettings(
      authorities: own.map { CertificateAuthorities(file: $0) } ?? authorities, pins: request.pins,
      proxy: enforcesProxy ? proxy : request.proxy ?? proxy, noProxy: enforcesProxy ? [] : nil)
  }
}
