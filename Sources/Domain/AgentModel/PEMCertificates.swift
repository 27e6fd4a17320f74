/// The certificates in a PEM file (RFC 7468 section 5; `TRUSTED` is OpenSSL's).
public enum PEMCertificates {
  private static let labels = ["CERTIFICATE", "TRUSTED CERTIFICATE", "X509 CERTIFICATE"]

  /// The blocks that are certificates, so that a key that lies in the same file stays where it is.
  public static func blocks(in pem: [UInt8]) -> [UInt8] {
    var found: [UInt8] = []
    forEachBlock(in: pem) { found += $0 + [0x0A] }
    return found
  }

  /// True if the file has a certificate, and each block that says it is one can be one: OpenSSL stops at the first other.
  public static func isFile(_ pem: [UInt8]) -> Bool {
    var count = 0
    var isSound = true
    forEachBlock(in: pem) { block in
      count += 1
      let body = block.split(separator: 0x0A).dropFirst().dropLast().joined()
      isSound = isSound && Base64.decode(String(decoding: body, as: UTF8.self)).map(isSequence) == true
    }
    return count > 0 && isSound
  }

  private static func forEachBlock(in pem: [UInt8], _ body: ([UInt8]) -> Void) {
    var block: (end: [UInt8], lines: [[UInt8]])?
    for line in pem.split(separator: 0x0A) {
      let text = Array(line.reversed().drop { $0 == 0x0D || $0 == 0x20 || $0 == 0x09 }.reversed())
      if let label = labels.first(where: { text == Array("-----BEGIN \($0)-----".utf8) }) {
        block = (Array("-----END \(label)-----".utf8), [])
      }
      guard block != nil else { continue }
      block?.lines.append(text)
      if let whole = block, text == whole.end {
        body(Array(whole.lines.joined(separator: [0x0A])))
        block = nil
      }
    }
  }

  /// True for DER of one SEQUENCE, as a certificate is; OpenSSL's `TRUSTED` form has another one behind it.
  private static func isSequence(_ der: [UInt8]) -> Bool {
    guard der.count > 2, der[0] == 0x30 else { return false }
    guard der[1] & 0x80 != 0 else { return Int(der[1]) + 2 <= der.count }
    let size = Int(der[1] & 0x7F)
    guard (1...4).contains(size), der.count > 2 + size else { return false }
    return der[2..<2 + size].reduce(0) { $0 << 8 | Int($1) } + 2 + size <= der.count
  }
}
