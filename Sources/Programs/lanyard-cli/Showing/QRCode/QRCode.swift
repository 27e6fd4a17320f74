/// A QR code (ISO/IEC 18004) in byte mode, at error correction level M, in the smallest version that holds the text.
struct QRCode {
  let size: Int
  /// Row by row; true is dark.
  private var modules: [Bool]
  /// The modules of function patterns and format information, which hold no data.
  private var isFixed: [Bool]

  /// Nil if no version holds the text.
  init?(_ text: String) {
    let bytes = Array(text.utf8)
    guard let version = QRVersion.all.first(where: { $0.capacity >= bytes.count }) else { return nil }
    size = version.size
    modules = [Bool](repeating: false, count: size * size)
    isFixed = modules
    drawFixedPatterns(version)
    draw(QRCodewords.encode(bytes, version))
    let codes = (0..<8).map { masked($0) }.map { (penalty: $0.penalty, modules: $0.modules) }
    if let best = codes.min(by: { $0.penalty < $1.penalty }) { modules = best.modules }
  }

  /// False outside of the code.
  func isDark(_ row: Int, _ column: Int) -> Bool {
    (0..<size).contains(row) && (0..<size).contains(column) && modules[row * size + column]
  }

  private mutating func fix(_ row: Int, _ column: Int, _ isDark: Bool) {
    guard (0..<size).contains(row), (0..<size).contains(column) else { return }
    modules[row * size + column] = isDark
    isFixed[row * size + column] = true
  }

  // MARK: Function patterns (§6.3)

  private mutating func drawFixedPatterns(_ version: QRVersion) {
    for index in 0..<size {
      fix(6, index, index % 2 == 0)
      fix(index, 6, index % 2 == 0)
    }
    for (row, column) in [(3, 3), (3, size - 4), (size - 4, 3)] { drawSquares(row, column, reach: 4) }
    let corners = [6, size - 7]
    for row in version.alignment {
      for column in version.alignment {
        let isOnFinder = corners.contains(row) && corners.contains(column) && (row == 6 || column == 6)
        if !isOnFinder { drawSquares(row, column, reach: 2) }
      }
    }
    drawFormat(mask: 0)
    if version.number >= 7 { drawVersion(version.number) }
  }

  /// Draws a finder pattern (reach 4) or an alignment pattern (reach 2) around its centre.
  private mutating func drawSquares(_ row: Int, _ column: Int, reach: Int) {
    for down in -reach...reach {
      for right in -reach...reach {
        let ring = max(abs(down), abs(right))
        let isLight = reach == 2 ? ring == 1 : ring == 2 || ring == 4
        fix(row + down, column + right, !isLight)
      }
    }
  }

  /// Draws the format information: level M and the mask, twice (§7.9).
  private mutating func drawFormat(mask: Int) {
    let bits = Self.withRemainder(mask, bits: 10, by: 0x537) ^ 0x5412
    func bit(_ index: Int) -> Bool { bits >> index & 1 == 1 }
    // Around the finder at the top left, past the timing patterns.
    for index in 0..<15 {
      let (row, column) =
        switch index {
        case 0...5: (index, 8)
        case 6: (7, 8)
        case 7: (8, 8)
        case 8: (8, 7)
        default: (8, 14 - index)
        }
      fix(row, column, bit(index))
    }
    for index in 0..<8 { fix(8, size - 1 - index, bit(index)) }
    for index in 8..<15 { fix(size - 15 + index, 8, bit(index)) }
    fix(size - 8, 8, true)
  }

  /// Draws the version information, twice (§7.10).
  private mutating func drawVersion(_ number: Int) {
    let bits = Self.withRemainder(number, bits: 12, by: 0x1F25)
    for index in 0..<18 {
      let isDark = bits >> index & 1 == 1
      fix(size - 11 + index % 3, index / 3, isDark)
      fix(index / 3, size - 11 + index % 3, isDark)
    }
  }

  /// Appends the BCH remainder to a number.
  private static func withRemainder(_ value: Int, bits: Int, by divisor: Int) -> Int {
    var remainder = value
    for _ in 0..<bits { remainder = remainder << 1 ^ (remainder >> (bits - 1)) * divisor }
    return value << bits | remainder
  }

  // MARK: Data (§7.7)

  /// Fills two columns at a time, from the right, upwards and downwards in turn.
  private mutating func draw(_ codewords: [UInt8]) {
    var index = 0
    for right in stride(from: size - 1, to: 0, by: -2) {
      // The vertical timing pattern takes a whole column.
      let right = right <= 6 ? right - 1 : right
      let isUpward = (right + 1) & 2 == 0
      for step in 0..<size {
        let row = isUpward ? size - 1 - step : step
        for column in [right, right - 1] where !isFixed[row * size + column] && index < codewords.count * 8 {
          modules[row * size + column] = codewords[index / 8] >> (7 - index % 8) & 1 == 1
          index += 1
        }
      }
    }
  }

  // MARK: Masks (§7.8)

  private func masked(_ mask: Int) -> QRCode {
    var code = self
    for row in 0..<size {
      for column in 0..<size where !isFixed[row * size + column] && Self.flips(mask, row, column) {
        code.modules[row * size + column].toggle()
      }
    }
    code.drawFormat(mask: mask)
    return code
  }

  private static func flips(_ mask: Int, _ row: Int, _ column: Int) -> Bool {
    switch mask {
    case 0: (row + column) % 2 == 0
    case 1: row % 2 == 0
    case 2: column % 3 == 0
    case 3: (row + column) % 3 == 0
    case 4: (row / 2 + column / 3) % 2 == 0
    case 5: row * column % 2 + row * column % 3 == 0
    case 6: (row * column % 2 + row * column % 3) % 2 == 0
    default: ((row + column) % 2 + row * column % 3) % 2 == 0
    }
  }

  /// The penalty score (§7.8.3): long runs, blocks, patterns that resemble a finder, an uneven share of dark modules.
  private var penalty: Int {
    let lines = (0..<size).flatMap { index in
      [(0..<size).map { isDark(index, $0) }, (0..<size).map { isDark($0, index) }]
    }
    var penalty = lines.reduce(0) { $0 + Self.penalty(ofLine: $1) }
    for row in 0..<(size - 1) {
      for column in 0..<(size - 1) {
        let one = isDark(row, column)
        if isDark(row, column + 1) == one, isDark(row + 1, column) == one, isDark(row + 1, column + 1) == one {
          penalty += 3
        }
      }
    }
    let dark = modules.count { $0 }
    return penalty + abs(dark * 20 - modules.count * 10) / modules.count * 10
  }

  private static func penalty(ofLine line: [Bool]) -> Int {
    var penalty = 0
    var run = 0
    for (index, isDark) in line.enumerated() {
      run = index > 0 && line[index - 1] == isDark ? run + 1 : 1
      if run == 5 { penalty += 3 } else if run > 5 { penalty += 1 }
    }
    let finder = [true, false, true, true, true, false, true]
    let light = [false, false, false, false]
    for start in 0...(line.count - 11) {
      let window = Array(line[start..<(start + 11)])
      if window == finder + light || window == light + finder { penalty += 40 }
    }
    return penalty
  }
}
