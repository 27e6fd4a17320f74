internal import CSodium

/// Verifies signatures of Ed25519 (RFC 8032), by libsodium: it refuses keys of small order and values that are not
/// canonical.
public enum Ed25519 {
  /// Length of a public key in bytes.
  public static let keyByteCount = 32
  /// Length of a signature in bytes.
  public static let signatureByteCount = 64

  /// True if `signature` is that of `message` under the public key `key`; false too for wrong lengths.
  public static func verifies(_ signature: [UInt8], of message: [UInt8], by key: [UInt8]) -> Bool {
    guard signature.count == signatureByteCount, key.count == keyByteCount else { return false }
    return crypto_sign_verify_detached(signature, message, UInt64(message.count), key) == 0
  }
}
