internal import CSodium

/// A key pair of which one half seals and the other opens: for whoever may put something in and must not read it
/// (libsodium's sealed box: X25519, XSalsa20-Poly1305). A box says nothing of who made it: what it holds must.
public struct BoxKey: Sendable {
  public static let publicByteCount = 32
  /// What a box is longer than its content.
  public static let overheadBytes = 48

  /// Opens nothing; still worth hiding, since whoever has it can make boxes.
  public let publicKey: [UInt8]
  private let secretKey: Secret

  /// The pair that belongs to a key, always the same.
  public init(seed: SealingKey) {
    var publicKey = [UInt8](repeating: 0, count: Self.publicByteCount)
    secretKey = Secret(
      SecretBytes(capacity: Int(crypto_box_SECRETKEYBYTES)) { target in
        seed.secret.withBytes { seed in
          _ = crypto_box_seed_keypair(
            &publicKey, target.baseAddress!.assumingMemoryBound(to: UInt8.self),
            seed.baseAddress!.assumingMemoryBound(to: UInt8.self))
        }
        return target.count
      })
    self.publicKey = publicKey
  }

  /// Nil if `publicKey` is none.
  public static func seal(_ plain: Secret, to publicKey: [UInt8]) -> [UInt8]? {
    guard publicKey.count == publicByteCount else { return nil }
    var sealed = [UInt8](repeating: 0, count: plain.count + overheadBytes)
    let result = plain.withBytes { plain in
      crypto_box_seal(
        &sealed, plain.baseAddress?.assumingMemoryBound(to: UInt8.self), UInt64(plain.count), publicKey)
    }
    return result == 0 ? sealed : nil
  }

  /// Opens into guarded memory, or says that the seal is broken.
  public func open(_ sealed: [UInt8]) throws(DecryptionFailed) -> Secret {
    guard sealed.count >= Self.overheadBytes else { throw DecryptionFailed() }
    let bytes = try SecretBytes(capacity: sealed.count - Self.overheadBytes) {
      (target) throws(DecryptionFailed) -> Int in
      let result = secretKey.withBytes { secretKey in
        crypto_box_seal_open(
          target.baseAddress?.assumingMemoryBound(to: UInt8.self), sealed, UInt64(sealed.count), publicKey,
          secretKey.baseAddress!.assumingMemoryBound(to: UInt8.self))
      }
      guard result == 0 else { throw DecryptionFailed() }
      return target.count
    }
    return Secret(bytes)
  }
}
