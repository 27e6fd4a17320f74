internal import CSodium

/// Argon2id, with bounds both ways: a store that asks for less is not protected, one that asks for more is an attack.
public struct PassphraseStretching: Sendable, Equatable {
  public static let saltBytes = 16
  /// Below this, guessing gets cheap (RFC 9106 §4 recommends 64 MiB with three passes for constrained machines).
  public static let least = PassphraseStretching(passes: 3, memoryBytes: 64 << 20)
  /// Above this, opening a store would exhaust the machine.
  public static let most = PassphraseStretching(passes: 16, memoryBytes: 1 << 30)

  public var passes: UInt64
  public var memoryBytes: Int

  public init(passes: UInt64, memoryBytes: Int) {
    self.passes = passes
    self.memoryBytes = memoryBytes
  }

  public var isWithinBounds: Bool {
    (Self.least.passes...Self.most.passes).contains(passes)
      && (Self.least.memoryBytes...Self.most.memoryBytes).contains(memoryBytes)
  }

  /// Derives a key from a passphrase; nil if the bounds are not met or memory is short. Takes 0.1 s and more.
  public func key(from passphrase: Secret, salt: [UInt8]) -> SealingKey? {
    guard isWithinBounds, salt.count == Self.saltBytes else { return nil }
    let failed = 0
    let bytes = SecretBytes(capacity: SealingKey.byteCount) { target in
      passphrase.withBytes { passphrase in
        crypto_pwhash(
          target.baseAddress!.assumingMemoryBound(to: UInt8.self), UInt64(SealingKey.byteCount),
          passphrase.baseAddress!.assumingMemoryBound(to: CChar.self), UInt64(passphrase.count), salt, passes,
          memoryBytes, crypto_pwhash_ALG_ARGON2ID13) == 0 ? SealingKey.byteCount : failed
      }
    }
    return SealingKey(Secret(bytes))
  }
}

/// Plain SHA-256, for PKCE (RFC 7636 §4.2), hashed grants and fingerprints.
public func sha256(_ bytes: UnsafeRawBufferPointer) -> [UInt8] {
  [UInt8](unsafeUninitializedCapacity: 32) { buffer, count in
    _ = crypto_hash_sha256(
      buffer.baseAddress!, bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), UInt64(bytes.count))
    count = 32
  }
}

/// Whether two hashes are the same, in a time that does not tell where they differ.
public func equalInConstantTime(_ one: [UInt8], _ other: [UInt8]) -> Bool {
  one.count == other.count && sodium_memcmp(one, other, one.count) == 0
}

/// Overwrites memory that held a secret.
public func wipe(_ memory: UnsafeMutableRawBufferPointer) {
  if let base = memory.baseAddress { sodium_memzero(base, memory.count) }
}
