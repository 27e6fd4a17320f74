internal import CSodium

/// BLAKE2b (RFC 7693) of bytes that are not secret, by libsodium.
public enum BLAKE2b {
  /// The digest of `message` with `count` bytes, from 16 to 64.
  ///
  /// - Parameter key: at most 64 bytes; empty for none.
  public static func digest(_ message: [UInt8], key: [UInt8] = [], count: Int) -> [UInt8] {
    precondition((16...64).contains(count) && key.count <= 64)
    return [UInt8](unsafeUninitializedCapacity: count) { target, written in
      _ = crypto_generichash(target.baseAddress!, count, message, UInt64(message.count), key, key.count)
      written = count
    }
  }
}
