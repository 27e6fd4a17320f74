import Foundation

/// The source of signing keys.
public enum KeySource: String, Sendable, Codable {
  /// Keys printed in this program's source, the same in every run: fast and repeatable, and without any secrecy.
  case practiceOnlyFixedKeys
  /// Generated at start: RSA by OpenSSL, the others from the provider's random bytes.
  case generated
}

/// The keys of one provider: the newest of each algorithm signs, all kept ones are published.
struct KeyRing: Sendable {
  private(set) var published: [SigningKey] = []
  private var generation = 0
  private let source: KeySource

  init(_ algorithm: SigningAlgorithm, source: KeySource, random: (Int) -> [UInt8]) {
    self.source = source
    rotate(to: algorithm, keepingOld: false, random: random)
  }

  var current: SigningKey { published[0] }

  /// Adds a key that signs from now on. If the old ones are not kept, tokens they signed can no longer be verified.
  mutating func rotate(to algorithm: SigningAlgorithm, keepingOld: Bool, random: (Int) -> [UInt8]) {
    generation += 1
    let id = "practice-\(algorithm.rawValue.lowercased())-\(generation)"
    let key = SigningKey(algorithm, id: id, material: material(algorithm, random: random))
    published = [key] + (keepingOld ? published : [])
  }

  /// A key like the current one that is not published.
  func impostor() -> SigningKey {
    let seed = Digest.sha256("practice only, published nowhere".utf8)
    let material: KeyMaterial =
      switch current.algorithm {
      case .rs256, .rs512: .rsaDER(Self.fixedRSA(generation))
      case .es256: .p256(seed)
      case .edDSA: .ed25519(seed)
      }
    return SigningKey(current.algorithm, id: current.id, material: material)
  }

  private func material(_ algorithm: SigningAlgorithm, random: (Int) -> [UInt8]) -> KeyMaterial {
    let isFixed = source == .practiceOnlyFixedKeys
    switch algorithm {
    // The fixed keys repeat after three rotations, under a new id.
    case .rs256, .rs512: return isFixed ? .rsaDER(Self.fixedRSA(generation - 1)) : .generatedRSA
    case .es256: return .p256(isFixed ? fixedSeed(algorithm) : random(32))
    case .edDSA: return .ed25519(isFixed ? fixedSeed(algorithm) : random(32))
    }
  }

  private func fixedSeed(_ algorithm: SigningAlgorithm) -> [UInt8] {
    Digest.sha256("practice only \(algorithm.rawValue) \(generation)".utf8)
  }

  private static func fixedRSA(_ number: Int) -> [UInt8] {
    let keys = PracticeOnlyKeys.rsa
    guard let der = Data(base64Encoded: keys[number % keys.count]) else { fatalError("a fixed key is not base64") }
    return [UInt8](der)
  }
}
