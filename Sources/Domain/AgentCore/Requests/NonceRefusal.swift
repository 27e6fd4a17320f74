/// A server's refusal of a DPoP proof for its nonce (RFC 9449 §8 and §9).
public enum NonceRefusal {
  /// The `error` of the refusal.
  public static let error = "use_dpop_nonce"

  /// True if a resource server refuses the proof so, by the values of `WWW-Authenticate`. It did not process the request.
  public static func isOne(_ challenges: [String]) -> Bool {
    AuthenticationChallenge.all(in: challenges).contains { $0.scheme == "dpop" && $0.parameters["error"] == error }
  }
}
