internal import CSodium

/// A key pair for anonymous public-key encryption (libsodium's sealed box: X25519, XSalsa20-Poly1305).
///
/// A box does not authenticate its sender: its content must.
public struct BoxKey: Sendable {
  /// Length of a public key in bytes.
  public static let publicByteCount = 32
  /// Bytes that encryption adds to the content.
  public static let overheadBytes = 48

  /// The public key. Keep it private all the same: it is enough to make boxes.
  public let publicKey: [UInt8]
  private let secretKey: Secret

  /// Derives the key pair from `seed`, always the same one.
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

  /// Encrypts `plain` to a public key; nil if `publicKey` is invalid.
  public static func seal(_ plain: Secret, to publicKey: [UInt8]) -> [UInt8]? {
    guard publicKey.count == publicByteCount else { return nil }
    var sealed = [UInt8](repeating: 0, count: plain.count + overheadBytes)
    let result = plain.withBytes { plain in
      crypto_box_seal(
        &sealed, plain.baseAddress?.assumingMemoryBound(to: UInt8.self), UInt64(plain.count), publicKey)
    }
    return result == 0 ? sealed : nil
  }

  /// Decrypts into guarded memory.
  ///
  /// - Throws: `DecryptionFailed` if the box was altered or made for another key.
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
