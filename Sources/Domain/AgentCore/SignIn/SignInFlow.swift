/// The method by which a person signs in.
public enum SignInFlow: String, CaseIterable, Hashable, Sendable {
  /// The browser brings the answer to a listener on loopback.
  case browser
  /// The person agrees on another device (RFC 8628).
  case device
  /// The person brings the answer by hand.
  case paste
}
