/// Why a server was not trusted. Nothing was sent to it. The raw values are `data.reason` of `untrustedServer`.
public enum TrustFailure: String, Hashable, Sendable, CaseIterable {
  /// No known authority signed the certificate, or the file of authorities can't be read.
  case unknownAuthority
  /// The certificate is for another host.
  case wrongName
  /// The certificate is not valid yet, or not any more.
  case expired
  /// No pinned key is the server's.
  case pinMismatch
  /// The handshake failed for another reason.
  case tls

  /// What follows the words that a server could not be trusted.
  public var explanation: String {
    switch self {
    case .unknownAuthority: "this machine does not know the authority of its certificate"
    case .wrongName: "its certificate is for another host"
    case .expired: "its certificate is not valid now"
    case .pinMismatch: "no pinned key is the server's"
    case .tls: "TLS failed"
    }
  }
}
