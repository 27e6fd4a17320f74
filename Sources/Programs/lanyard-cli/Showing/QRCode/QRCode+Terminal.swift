import CommandSupport

extension QRCode {
  /// Modules of nothing around it, without which it is not found (§9.1).
  private static let quiet = 4

  /// Characters that a line of it takes.
  var columns: Int { size + 2 * Self.quiet }
  /// Lines that it takes: each holds two rows.
  var lines: Int { (size + 2 * Self.quiet + 1) / 2 }

  /// Two modules a character, the upper and the lower half, black on white whatever the terminal's own colours are: a
  /// code whose light is dark is read by few. Without colours the light ones are drawn, as for most people's terminals.
  func drawn(inColour: Bool) -> String {
    let end = size + Self.quiet
    return stride(from: -Self.quiet, to: end, by: 2).map { row in
      let line = (-Self.quiet..<end).map { column in
        // Below the last row there is nothing: the ground's colour.
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
