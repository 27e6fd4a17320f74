/// Further members of a provider's authorization request (docs/providers.md, Authorization parameters): `audience`,
/// `access_type`, `domain_hint`. Names that the protocol owns are refused, so that no configuration can weaken a
/// sign-in or send its answer elsewhere.
public enum AuthorizationParameters {
  /// Why a parameter is refused.
  public enum Refusal: Error, Equatable, Sendable {
    /// The agent sets this parameter, or must not send it.
    case ownedByTheProtocol
    /// The name is no parameter name (RFC 6749 §8.2).
    case name
    /// The value is empty, too long, or has a control character.
    case value
  }

  private static let longestName = 64
  private static let longestValue = 1024

  /// The parameters of the requests of a sign-in and of a machine's grant, and of their answers: RFC 6749, 7523, 7636, 8628,
  /// 8693 (the tokens), 8707, 9101, 9126, 9396, 9449, OpenID Connect Core §3.1.2.1 and §6.
  private static let owned: Set<String> = [
    "acr_values", "actor_token", "assertion", "authorization_details", "claims", "client_assertion",
    "client_assertion_type",
    "client_id", "client_secret", "code", "device_code", "dpop_jkt", "error", "error_description", "error_uri",
    "grant_type", "id_token", "id_token_hint", "iss", "login_hint", "max_age", "nonce", "password", "prompt",
    "redirect_uri", "refresh_token", "registration", "request", "request_uri", "resource", "response_mode",
    "response_type", "scope", "state", "subject_token", "user_code", "username", "access_token",
  ]
  private static let ownedPrefixes = ["code_challenge", "code_verifier"]

  /// Nil if the parameter may be sent. Some servers compare names without regard to case.
  public static func refusal(of name: String, _ value: String) -> Refusal? {
    guard (1...longestName).contains(name.utf8.count), name.utf8.allSatisfy(isNameByte) else { return .name }
    // Some servers read other marks as underscores.
    let lower = String(name.lowercased().map { $0 == "." || $0 == "-" ? "_" : $0 })
    if owned.contains(lower) || ownedPrefixes.contains(where: lower.hasPrefix) { return .ownedByTheProtocol }
    guard (1...longestValue).contains(value.utf8.count), value.unicodeScalars.allSatisfy({ !isControl($0) }) else {
      return .value
    }
    return nil
  }

  private static func isNameByte(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"): true
    default: false
    }
  }

  private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate: true
    default: false
    }
  }
}
