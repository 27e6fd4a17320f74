internal import AgentModel
public import Secrets

extension HTTPField {
  /// A bearer token (RFC 6750 §2.1).
  public static func bearer(_ token: Secret) -> HTTPField { authorization("Bearer ", token) }

  /// A token that is bound to the key of a proof beside it (RFC 9449 §7.1).
  public static func dpop(_ token: Secret) -> HTTPField { authorization("DPoP ", token) }

  private static func authorization(_ scheme: String, _ token: Secret) -> HTTPField {
    var value = SecretBuilder(capacity: token.count + 7)
    value.append(scheme)
    value.append(token)
    return HTTPField("Authorization", secret: value.finish())
  }

  /// HTTP Basic authentication of a confidential client (RFC 6749 §2.3.1): id and secret form-encoded, joined by a
  /// colon, in Base64.
  public static func basic(clientID: String, clientSecret: Secret) -> HTTPField {
    var pair = SecretBuilder()
    PercentCoding.encode(clientID.utf8, form: true) { pair.append($0) }
    pair.append(UInt8(ascii: ":"))
    clientSecret.withBytes { bytes in PercentCoding.encode(bytes, form: true) { pair.append($0) } }
    var value = SecretBuilder(capacity: pair.count * 4 / 3 + 12)
    value.append("Basic ")
    pair.withBytes { base64($0) { value.append($0) } }
    return HTTPField("Authorization", secret: value.finish())
  }

  /// Padded Base64 (RFC 4648 §4), passed on byte by byte so that no unguarded copy of the secret remains.
  private static func base64(_ bytes: UnsafeRawBufferPointer, _ emit: (UInt8) -> Void) {
    let alphabet: StaticString = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    for start in stride(from: 0, to: bytes.count, by: 3) {
      let held = min(bytes.count - start, 3)
      var bits: UInt32 = 0
      for offset in 0..<3 { bits = bits << 8 | (offset < held ? UInt32(bytes[start + offset]) : 0) }
      for character in 0..<4 {
        emit(character <= held ? alphabet.utf8Start[Int(bits >> (18 - 6 * character) & 63)] : UInt8(ascii: "="))
      }
    }
  }
}
