/// Pins of public keys (RFC 7469 §2.4), which count beside the certificate authorities (docs/tokens.md, Pins).
extension ProviderConfiguration {
  /// The pins of a host; empty if it has none, or if they have expired. `now` is the provider's time.
  public func pins(of host: String, at now: Timestamp) -> [String] {
    if let pinsExpireAt, now >= pinsExpireAt { return [] }
    return pins[host.lowercased()] ?? []
  }
}
