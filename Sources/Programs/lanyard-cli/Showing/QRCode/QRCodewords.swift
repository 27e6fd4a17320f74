/// Encodes text as data and error correction codewords of a QR code (ISO/IEC 18004 §7.4 to §7.6).
enum QRCodewords {
  static func encode(_ text: [UInt8], _ version: QRVersion) -> [UInt8] {
    let data = padded(text, version)
    var rest = data[...]
    let blocks = version.blocks.map { length in
      defer { rest = rest.dropFirst(length) }
      return Array(rest.prefix(length))
    }
    let divisor = generator(degree: version.correction)
    return interleaved(blocks) + interleaved(blocks.map { remainder(of: $0, by: divisor) })
  }

  /// Mode, number of bytes, bytes, terminator, and padding to the end.
  private static func padded(_ text: [UInt8], _ version: QRVersion) -> [UInt8] {
    var bits: [Bool] = []
    func append(_ value: Int, _ count: Int) {
      for bit in (0..<count).reversed() { bits.append(value >> bit & 1 == 1) }
    }
    append(0b0100, 4)  // byte mode
    append(text.count, version.countBits)
    for byte in text { append(Int(byte), 8) }
    append(0, min(4, version.dataCodewords * 8 - bits.count))
    append(0, (8 - bits.count % 8) % 8)
    var codewords = stride(from: 0, to: bits.count, by: 8).map { start in
      bits[start..<(start + 8)].reduce(UInt8(0)) { $0 << 1 | ($1 ? 1 : 0) }
    }
    var padding: UInt8 = 0b1110_1100
    while codewords.count < version.dataCodewords {
      codewords.append(padding)
      padding ^= 0b1110_1100 ^ 0b0001_0001
    }
    return codewords
  }

  /// The first codeword of each block, then the second of each, …
  private static func interleaved(_ blocks: [[UInt8]]) -> [UInt8] {
    let longest = blocks.map(\.count).max() ?? 0
    return (0..<longest).flatMap { index in blocks.compactMap { index < $0.count ? $0[index] : nil } }
  }

  // MARK: Reed-Solomon code over GF(2^8) modulo x^8 + x^4 + x^3 + x^2 + 1

  private static func product(_ a: UInt8, _ b: UInt8) -> UInt8 {
    var product: UInt8 = 0
    for bit in (0..<8).reversed() {
      let carry = product & 0x80 != 0
      product <<= 1
      if carry { product ^= 0x1D }
      if b >> bit & 1 == 1 { product ^= a }
    }
    return product
  }

  /// The coefficients of (x - 1)(x - 2)(x - 4)…, without the highest, which is 1.
  private static func generator(degree: Int) -> [UInt8] {
    var coefficients = [UInt8](repeating: 0, count: degree - 1) + [1]
    var root: UInt8 = 1
    for _ in 0..<degree {
      for index in 0..<degree {
        coefficients[index] = product(coefficients[index], root)
        if index + 1 < degree { coefficients[index] ^= coefficients[index + 1] }
      }
      root = product(root, 2)
    }
    return coefficients
  }

  private static func remainder(of data: [UInt8], by divisor: [UInt8]) -> [UInt8] {
    var remainder = [UInt8](repeating: 0, count: divisor.count)
    for byte in data {
      let factor = byte ^ remainder.removeFirst()
      remainder.append(0)
      for index in 0..<divisor.count { remainder[index] ^= product(divisor[index], factor) }
    }
    return remainder
  }
}
