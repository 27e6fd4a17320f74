internal import CSodium

/// Argon2id parameters (RFC 9106). The lower bound keeps guessing expensive; the upper bound keeps a forged key slot
/// from exhausting memory.
public struct PassphraseStretching: Sendable, Equatable {
  /// Length of the salt in bytes.
  public static let saltBytes = 16
  /// The lower bound: 3 passes over 64 MiB, as RFC 9106 §4 recommends for constrained machines.
  public static let least = PassphraseStretching(passes: 3, memoryBytes: 64 << 20)
  /// The upper bound, which ordinary machines can still compute.
  public static let most = PassphraseStretching(passes: 16, memoryBytes: 1 << 30)

  /// Number of passes over the memory.
  public var passes: UInt64
  /// Memory in bytes.
  public var memoryBytes: Int

  public init(passes: UInt64, memoryBytes: Int) {
    self.passes = passes
    self.memoryBytes = memoryBytes
  }

  /// True if both parameters lie between `least` and `most`.
  public var isWithinBounds: Bool {
    (Self.least.passes...Self.most.passes).contains(passes)
      && (Self.least.memoryBytes...Self.most.memoryBytes).contains(memoryBytes)
  }

  /// Derives a key from a passphrase; nil if the parameters are out of bounds or memory runs out. Takes at least 0.1 s
  /// of CPU, so call it off the actor.
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

/// SHA-256, for PKCE (RFC 7636 §4.2), hashed grants and fingerprints.
public func sha256(_ bytes: UnsafeRawBufferPointer) -> [UInt8] {
  [UInt8](unsafeUninitializedCapacity: 32) { buffer, count in
    _ = crypto_hash_sha256(
      buffer.baseAddress!, bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), UInt64(bytes.count))
    count = 32
  }
}

/// Compares two hashes in constant time.
public func equalInConstantTime(_ one: [UInt8], _ other: [UInt8]) -> Bool {
  one.count == other.count && sodium_memcmp(one, other, one.count) == 0
}

/// Overwrites memory that held a secret; the compiler can't remove it.
public func wipe(_ memory: UnsafeMutableRawBufferPointer) {
  if let base = memory.baseAddress { sodium_memzero(base, memory.count) }
}
