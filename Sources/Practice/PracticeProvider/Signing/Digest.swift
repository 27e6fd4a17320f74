import COpenSSL

package enum Digest {
  package static func sha256(_ bytes: some Sequence<UInt8>) -> [UInt8] {
    let input = Array(bytes)
    var output = [UInt8](repeating: 0, count: Int(SHA256_DIGEST_LENGTH))
    SHA256(input, input.count, &output)
    return output
  }

  static func sha512(_ bytes: some Sequence<UInt8>) -> [UInt8] {
    let input = Array(bytes)
    var output = [UInt8](repeating: 0, count: Int(SHA512_DIGEST_LENGTH))
    SHA512(input, input.count, &output)
    return output
  }
}
