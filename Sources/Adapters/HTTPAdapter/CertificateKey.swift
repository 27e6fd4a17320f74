internal import AgentModel
internal import Secrets

/// Finds the public key in a certificate (RFC 5280 §4.1; docs/decisions/0019-the-key-in-a-certificate.md).
enum CertificateKey {
  /// The pin of its key (RFC 7469 §2.4); nil if the text is no certificate.
  static func pin(ofPEM text: String) -> String? {
    let lines = text.split(whereSeparator: \.isNewline).filter { !$0.hasPrefix("-----") }
    guard let der = Base64.decode(lines.joined()), let key = subjectPublicKeyInfo(der[...]) else { return nil }
    return "sha256/" + key.withUnsafeBytes { sha256($0) }.withUnsafeBytes { Base64.encode($0) }
  }

  /// The whole element, tag and length included, over which a pin is made.
  private static func subjectPublicKeyInfo(_ certificate: ArraySlice<UInt8>) -> [UInt8]? {
    guard let outer = element(certificate)?.content, var body = element(outer)?.content else { return nil }
    if body.first == 0xA0 { body = element(body)?.rest ?? [] }  // The version, absent in the first one.
    // The serial number, the signature's algorithm, the issuer, the validity and the subject.
    for _ in 0..<5 {
      guard let rest = element(body)?.rest else { return nil }
      body = rest
    }
    guard body.first == 0x30, let key = element(body) else { return nil }
    return Array(body[..<key.rest.startIndex])
  }

  /// The first element in DER (X.690 §8.1): its content, and what follows it.
  private static func element(_ bytes: ArraySlice<UInt8>) -> (content: ArraySlice<UInt8>, rest: ArraySlice<UInt8>)? {
    guard bytes.count >= 2, bytes[bytes.startIndex] & 0x1F != 0x1F else { return nil }
    var at = bytes.startIndex + 1
    var length = Int(bytes[at])
    at += 1
    if length >= 0x80 {
      let count = length & 0x7F
      guard (1...4).contains(count), bytes.endIndex - at >= count else { return nil }
      length = bytes[at..<at + count].reduce(0) { $0 << 8 | Int($1) }
      at += count
    }
    guard length <= bytes.endIndex - at else { return nil }
    return (bytes[at..<at + length], bytes[(at + length)...])
  }
}
