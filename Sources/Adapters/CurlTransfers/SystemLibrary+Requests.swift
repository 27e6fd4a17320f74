public import AgentModel
internal import CCurl

extension SystemLibrary {
  /// The one whose absence keeps `ccurl_open` from opening libcurl.
  public static var missingForRequests: SystemLibrary {
    switch ccurl_missing() {
    case ccurl_lacks_crypto: .crypto
    case ccurl_lacks_tls: .tls
    default: .curl
    }
  }
}
