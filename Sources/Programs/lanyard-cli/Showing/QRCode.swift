import CQRCode
import CommandSupport
import Glibc

/// A QR code (ISO/IEC 18004) at error correction level M: a reader recovers the text if 15 % is unreadable, for example
/// behind a reflection on the screen.
struct QRCode {
  private let size: Int
  /// Row by row; true is dark.
  private let modules: [Bool]

  /// Version 10 holds up to 213 bytes. A larger code fits on few terminals.
  private static let largestSize = 57

  /// Nil if the text is too long, or libqrencode is missing.
  init?(_ text: String) {
    var size: Int32 = 0
    guard let modules = lanyard_qr_code(text, &size) else { return nil }
    defer { free(modules) }
    guard size <= Self.largestSize else { return nil }
    self.size = Int(size)
    self.modules = UnsafeBufferPointer(start: modules, count: self.size * self.size).map { $0 != 0 }
  }

  /// False outside of the code.
  private func isDark(_ row: Int, _ column: Int) -> Bool {
    (0..<size).contains(row) && (0..<size).contains(column) && modules[row * size + column]
  }

  /// Light modules around the code (§9.1).
  private static let quiet = 4

  /// The width in characters.
  var columns: Int { size + 2 * Self.quiet }
  /// The height in lines; a line holds two rows.
  var lines: Int { (size + 2 * Self.quiet + 1) / 2 }

  /// Draws two modules a character, one above the other. With colour it sets black on white, because few readers accept
  /// an inverted code. Without colour it draws the light modules, as for a dark terminal.
  func drawn(inColour: Bool) -> String {
    let end = size + Self.quiet
    return stride(from: -Self.quiet, to: end, by: 2).map { row in
      let line = (-Self.quiet..<end).map { column in
        // The half line below the last row keeps the background.
        let (upper, lower) = (isDark(row, column), isDark(row + 1, column))
        return inColour ? Self.half(upper, lower) : Self.half(!upper, !lower && row + 1 < end)
      }.joined()
      return inColour ? "\u{1B}[38;5;16;48;5;231m\(line)\u{1B}[0m" : line
    }.joined(separator: "\n")
  }

  private static func half(_ upper: Bool, _ lower: Bool) -> String {
    switch (upper, lower) {
    case (true, true): "\u{2588}"
    case (true, false): "\u{2580}"
    case (false, true): "\u{2584}"
    case (false, false): " "
    }
  }
}
