package import AgentModel
package import Secrets

/// An access token with the key that it is bound to, or a secret with its place.
package struct AccessCredential: Sendable {
  package var token: Secret
  /// Nil for a bearer token and for a secret.
  package var key: DeviceKey?
  /// Where it stands in a request.
  package var placement: SecretPlacement

  package init(_ token: Secret, boundTo key: DeviceKey?, at placement: SecretPlacement = .bearer) {
    (self.token, self.key) = (token, key)
    self.placement = key == nil ? placement : .dpop
  }
}
