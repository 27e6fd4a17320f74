internal import CSodium

/// A record did not decrypt: it was altered, moved or replayed, or encrypted under another key.
public struct DecryptionFailed: Error, Sendable { public init() {} }

/// A 256-bit key in guarded memory, for encryption, derivation and keyed hashing.
public struct SealingKey: Sendable {
  /// Length of every key in the hierarchy, in bytes.
  public static let byteCount = 32

  /// The bytes of the key.
  public let secret: Secret

  /// Takes a secret of exactly `byteCount` bytes; nil for any other length.
  public init?(_ secret: Secret) {
    guard secret.count == Self.byteCount else { return nil }
    self.secret = secret
  }

  private init(derived bytes: consuming SecretBytes) { secret = Secret(bytes) }

  /// A new key from the system's random generator.
  public static func random() -> SealingKey { SealingKey(derived: SecretBytes(random: byteCount)) }

  /// Derives a subkey for a label and a context (keyed BLAKE2b-256).
  public func derive(_ label: String, _ context: [UInt8] = []) -> SealingKey {
    SealingKey(
      derived: SecretBytes(capacity: Self.byteCount) { target in
        hash("key", label, context, into: target)
        return Self.byteCount
      })
  }

  /// A keyed hash (BLAKE2b-256) for look-ups and chains. It reveals nothing without the key.
  public func digest(_ label: String, _ context: [UInt8]) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: Self.byteCount) { buffer, count in
      hash("digest", label, context, into: UnsafeMutableRawBufferPointer(buffer))
      count = Self.byteCount
    }
  }

  /// A keyed hash of a secret, in guarded memory: a pepper for a passphrase or PIN.
  public func keyed(_ label: String, _ other: Secret) -> Secret {
    var prefix = LengthPrefixed()
    prefix.append("keyed")
    prefix.append(label)
    prefix.append(UInt64(other.count))
    var message = SecretBuilder(capacity: prefix.bytes.count + other.count)
    prefix.bytes.withUnsafeBytes { message.append($0) }
    message.append(other)
    return Secret(
      SecretBytes(capacity: Self.byteCount) { target in
        message.withBytes { message in
          secret.withBytes { key in
            _ = crypto_generichash(
              target.baseAddress!.assumingMemoryBound(to: UInt8.self), Self.byteCount,
              message.baseAddress!.assumingMemoryBound(to: UInt8.self), UInt64(message.count),
              key.baseAddress!.assumingMemoryBound(to: UInt8.self), key.count)
          }
        }
        return Self.byteCount
      })
  }

  /// `purpose` separates keys from digests with the same label: a digest may be published, a key may not.
  private func hash(
    _ purpose: String, _ label: String, _ context: [UInt8], into target: UnsafeMutableRawBufferPointer
  ) {
    var message = LengthPrefixed(capacity: context.count + 64)
    message.append(purpose)
    message.append(label)
    message.append(context)
    secret.withBytes { key in
      _ = crypto_generichash(
        target.baseAddress!.assumingMemoryBound(to: UInt8.self), Self.byteCount, message.bytes,
        UInt64(message.bytes.count), key.baseAddress!.assumingMemoryBound(to: UInt8.self), key.count)
    }
  }

  /// Length of a nonce in bytes.
  public static let nonceBytes = Int(crypto_aead_xchacha20poly1305_ietf_NPUBBYTES)

  /// Encrypts with XChaCha20-Poly1305 under a random nonce, which precedes the ciphertext.
  ///
  /// - Parameter nonces: random nonces for many calls, since the kernel takes longer for one than the encryption.
  public func seal(
    _ plain: UnsafeRawBufferPointer, additionalData: [UInt8], nonces: inout NoncePool
  ) -> [UInt8] {
    nonces.next { nonce in seal(plain, additionalData: additionalData) { $0.copyMemory(from: nonce) } }
  }

  /// Encrypts with XChaCha20-Poly1305 under a random nonce, which precedes the ciphertext.
  public func seal(_ plain: UnsafeRawBufferPointer, additionalData: [UInt8]) -> [UInt8] {
    seal(plain, additionalData: additionalData) { randombytes_buf($0.baseAddress!, $0.count) }
  }

  private func seal(
    _ plain: UnsafeRawBufferPointer, additionalData: [UInt8], nonce: (UnsafeMutableRawBufferPointer) -> Void
  ) -> [UInt8] {
    let nonceBytes = Self.nonceBytes
    let tagBytes = Int(crypto_aead_xchacha20poly1305_ietf_ABYTES)
    return [UInt8](unsafeUninitializedCapacity: nonceBytes + plain.count + tagBytes) { buffer, count in
      nonce(UnsafeMutableRawBufferPointer(start: buffer.baseAddress!, count: nonceBytes))
      var written: UInt64 = 0
      _ = secret.withBytes { key in
        crypto_aead_xchacha20poly1305_ietf_encrypt(
          buffer.baseAddress! + nonceBytes, &written, plain.baseAddress?.assumingMemoryBound(to: UInt8.self),
          UInt64(plain.count), additionalData, UInt64(additionalData.count), nil, buffer.baseAddress!,
          key.baseAddress!.assumingMemoryBound(to: UInt8.self))
      }
      count = nonceBytes + Int(written)
    }
  }

  /// Encrypts a secret, as `seal(_:additionalData:)` of bytes.
  public func seal(_ plain: Secret, additionalData: [UInt8]) -> [UInt8] {
    plain.withBytes { seal($0, additionalData: additionalData) }
  }

  /// Decrypts into guarded memory.
  ///
  /// - Throws: `DecryptionFailed` if the ciphertext was altered, or the key or the additional data differ.
  public func open(_ sealed: [UInt8], additionalData: [UInt8]) throws(DecryptionFailed) -> Secret {
    let nonceBytes = Int(crypto_aead_xchacha20poly1305_ietf_NPUBBYTES)
    let tagBytes = Int(crypto_aead_xchacha20poly1305_ietf_ABYTES)
    guard sealed.count >= nonceBytes + tagBytes else { throw DecryptionFailed() }
    let plainBytes = sealed.count - nonceBytes - tagBytes
    let bytes = try SecretBytes(capacity: plainBytes) { (target) throws(DecryptionFailed) -> Int in
      var written: UInt64 = 0
      let result = secret.withBytes { key in
        sealed.withUnsafeBufferPointer { sealed in
          crypto_aead_xchacha20poly1305_ietf_decrypt(
            target.baseAddress?.assumingMemoryBound(to: UInt8.self), &written, nil, sealed.baseAddress! + nonceBytes,
            UInt64(sealed.count - nonceBytes), additionalData, UInt64(additionalData.count), sealed.baseAddress!,
            key.baseAddress!.assumingMemoryBound(to: UInt8.self))
        }
      }
      guard result == 0 else { throw DecryptionFailed() }
      return Int(written)
    }
    return Secret(bytes)
  }
}

/// Concatenates fields with a length before each, so that two different lists never give the same bytes.
public struct LengthPrefixed: Sendable {
  /// The fields appended so far: a 32-bit little-endian length before each.
  public private(set) var bytes: [UInt8] = []

  /// - Parameter capacity: bytes that the fields take, lengths included, as far as is known; there is room for more.
  public init(capacity: Int = 160) { bytes.reserveCapacity(capacity) }

  /// Appends a field.
  public mutating func append(_ field: [UInt8]) {
    field.withUnsafeBytes { append($0) }
  }

  /// Appends a text in UTF-8.
  public mutating func append(_ text: String) {
    var text = text
    text.withUTF8 { append(UnsafeRawBufferPointer($0)) }
  }

  /// Appends a 64-bit little-endian field.
  public mutating func append(_ number: UInt64) {
    withUnsafeBytes(of: number.littleEndian) { append($0) }
  }

  private mutating func append(_ field: UnsafeRawBufferPointer) {
    withUnsafeBytes(of: UInt32(field.count).littleEndian) { bytes.append(contentsOf: $0) }
    bytes.append(contentsOf: field)
  }
}
