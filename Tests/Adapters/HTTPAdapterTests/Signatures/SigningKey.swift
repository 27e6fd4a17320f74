import AgentModel
import Foundation
import Secrets
import Testing

/// A private key made by the openssl program: a second opinion on every signature.
final class SigningKey: Sendable {
  let algorithm: SignatureAlgorithm
  let publicKey: PublicKey
  private let directory: TemporaryDirectory

  static let all = Result { try SignatureAlgorithm.allCases.map { try SigningKey($0) } }
  static func of(_ algorithm: SignatureAlgorithm) throws -> SigningKey {
    try #require(try all.get().first { $0.algorithm == algorithm })
  }

  init(_ algorithm: SignatureAlgorithm, rsaBits: Int = 2048, edwardsCurve: String = "ED25519") throws {
    self.algorithm = algorithm
    directory = try TemporaryDirectory()
    let key = directory["key.pem"]
    switch algorithm {
    case .rs256, .rs384, .rs512, .ps256, .ps384, .ps512:
      try run("openssl", "genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:\(rsaBits)", "-out", key)
      let text = String(decoding: try run("openssl", "rsa", "-in", key, "-modulus", "-noout"), as: UTF8.self)
      publicKey = .rsa(modulus: Self.bytes(ofHex: text.trimmingPrefix("Modulus=")), exponent: [1, 0, 1])
    case .es256, .es384, .es512, .es256K:
      let curve = try #require(algorithm.curve)
      try run("openssl", "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:\(curve.rawValue)", "-out", key)
      let size = curve.coordinateBytes
      let point = try [UInt8](run("openssl", "pkey", "-in", key, "-pubout", "-outform", "der").suffix(2 * size))
      publicKey = .ellipticCurve(curve: curve, x: Array(point[..<size]), y: Array(point[size...]))
    case .edDSA:
      try run("openssl", "genpkey", "-algorithm", edwardsCurve, "-out", key)
      // A header of 12 bytes, then the key.
      let point = try [UInt8](run("openssl", "pkey", "-in", key, "-pubout", "-outform", "der").dropFirst(12))
      publicKey = point.count == 32 ? .ed25519(x: point) : .ed448(x: point)
    }
  }

  /// The key in the form that openssl wrote, or in the form that it writes with these arguments.
  func pem(_ arguments: String...) throws -> Secret {
    let key = directory["key.pem"]
    let text = try arguments.isEmpty ? run("cat", key) : run(["openssl"] + arguments + ["-in", key])
    return Secret(text: String(decoding: text, as: UTF8.self))
  }

  /// A signature in the form of RFC 7518.
  func sign(_ message: [UInt8]) throws -> [UInt8] {
    let key = directory["key.pem"]
    if algorithm == .edDSA {
      let file = directory["message-\(UUID().uuidString)"]
      try Data(message).write(to: URL(fileURLWithPath: file))
      return try [UInt8](run("openssl", "pkeyutl", "-sign", "-rawin", "-inkey", key, "-in", file))
    }
    let digest = algorithm == .es256K ? "-sha256" : "-sha" + algorithm.rawValue.suffix(3)
    let padding =
      algorithm.rawValue.hasPrefix("PS")
      ? ["-sigopt", "rsa_padding_mode:pss", "-sigopt", "rsa_pss_saltlen:digest"] : []
    let signature = try [UInt8](
      run(["openssl", "dgst", digest, "-sign", key] + padding, input: Data(message)))
    return algorithm.curve.map { Self.raw(signature, size: $0.coordinateBytes) } ?? signature
  }

  /// R and S at full length, from DER.
  private static func raw(_ der: [UInt8], size: Int) -> [UInt8] {
    // The signature of a P-521 key is so long that its length takes two bytes.
    var rest = der.dropFirst(der[1] < 0x80 ? 2 : 3)
    var raw: [UInt8] = []
    for _ in 0..<2 {
      let count = Int(rest[rest.startIndex + 1])
      let number = rest.dropFirst(2).prefix(count).drop { $0 == 0 }
      raw += [UInt8](repeating: 0, count: size - number.count) + number
      rest = rest.dropFirst(2 + count)
    }
    return raw
  }

  private static func bytes(ofHex text: some StringProtocol) -> [UInt8] {
    let digits = text.utf8.compactMap { Character(Unicode.Scalar($0)).hexDigitValue }
    return stride(from: 0, to: digits.count - 1, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
  }
}

extension SignatureAlgorithm {
  fileprivate var curve: EllipticCurve? {
    switch self {
    case .es256: .p256
    case .es384: .p384
    case .es512: .p521
    case .es256K: .secp256k1
    case .rs256, .rs384, .rs512, .ps256, .ps384, .ps512, .edDSA: nil
    }
  }
}
