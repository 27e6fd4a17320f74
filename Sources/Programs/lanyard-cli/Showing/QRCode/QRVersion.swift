/// A version (size) of QR codes (ISO/IEC 18004, tables 1, 7 and 9) at error correction level M: a reader recovers the
/// text if 15 % is unreadable, for example behind a reflection on the screen.
struct QRVersion {
  let number: Int
  /// Error correction codewords in each block.
  let correction: Int
  /// Data codewords of each block, in order.
  let blocks: [Int]
  /// Rows and columns in which alignment patterns are centred.
  let alignment: [Int]

  /// Modules on a side.
  var size: Int { 17 + 4 * number }
  var dataCodewords: Int { blocks.reduce(0, +) }
  /// Bits of the character count in byte mode.
  var countBits: Int { number < 10 ? 8 : 16 }
  /// Bytes of text that fit.
  var capacity: Int { (dataCodewords * 8 - 4 - countBits) / 8 }

  /// Versions 1 to 10 hold up to 213 bytes. A larger code fits on few terminals.
  static let all = [
    QRVersion(1, correction: 10, blocks: [16], alignment: []),
    QRVersion(2, correction: 16, blocks: [28], alignment: [6, 18]),
    QRVersion(3, correction: 26, blocks: [44], alignment: [6, 22]),
    QRVersion(4, correction: 18, blocks: [32, 32], alignment: [6, 26]),
    QRVersion(5, correction: 24, blocks: [43, 43], alignment: [6, 30]),
    QRVersion(6, correction: 16, blocks: [27, 27, 27, 27], alignment: [6, 34]),
    QRVersion(7, correction: 18, blocks: [31, 31, 31, 31], alignment: [6, 22, 38]),
    QRVersion(8, correction: 22, blocks: [38, 38, 39, 39], alignment: [6, 24, 42]),
    QRVersion(9, correction: 22, blocks: [36, 36, 36, 37, 37], alignment: [6, 26, 46]),
    QRVersion(10, correction: 26, blocks: [43, 43, 43, 43, 44], alignment: [6, 28, 50]),
  ]

  private init(_ number: Int, correction: Int, blocks: [Int], alignment: [Int]) {
    self.number = number
    self.correction = correction
    self.blocks = blocks
    self.alignment = alignment
  }
}
