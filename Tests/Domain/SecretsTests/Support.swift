import Secrets

extension Secret {
  /// A copy of the bytes, for assertions.
  var copied: [UInt8] { withBytes { Array($0) } }

  convenience init(_ bytes: [UInt8]) { self.init(SecretBytes(copying: bytes)) }
}

extension SecretBytes {
  init(copying bytes: [UInt8]) {
    self.init(capacity: bytes.count) { target in
      target.copyBytes(from: bytes)
      return bytes.count
    }
  }
}

extension SealingKey {
  init(bytes: [UInt8]) { self.init(Secret(bytes))! }
}

func bytes(hex: String) -> [UInt8] {
  let digits = hex.filter { !$0.isWhitespace }.compactMap { $0.hexDigitValue }
  return stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] * 16 + digits[$0 + 1]) }
}

func seal(_ plain: [UInt8], with key: SealingKey, _ additionalData: [UInt8]) -> [UInt8] {
  plain.withUnsafeBytes { key.seal($0, additionalData: additionalData) }
}
