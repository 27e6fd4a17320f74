internal import CSodium

/// Random nonces for many seals, read from the system's generator at once. Each is used once.
public struct NoncePool: Sendable {
  private var bytes: [UInt8] = []
  private var used = 0

  private static let nonces = 64

  public init() {}

  mutating func next<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
    if used == bytes.count {
      bytes = [UInt8](unsafeUninitializedCapacity: Self.nonces * SealingKey.nonceBytes) { buffer, count in
        count = buffer.count
        randombytes_buf(buffer.baseAddress!, count)
      }
      used = 0
    }
    defer { used += SealingKey.nonceBytes }
    return bytes.withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0[used..<used + SealingKey.nonceBytes])) }
  }
}
