/// Why a client can't authenticate itself by the method that was chosen for it.
package enum ClientAuthenticationFailure: Error, Sendable {
  /// The client's key can't be read, is too weak, or does not sign.
  case keyUnusable
  case secretMissing
  case keyMissing
}
