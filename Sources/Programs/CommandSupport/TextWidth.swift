/// Widths of text on a terminal, in columns.
public enum TextWidth {
  /// The columns that a text takes: two for wide characters, none for combining marks.
  public static func of(_ text: some StringProtocol) -> Int { text.reduce(0) { $0 + of($1) } }

  /// The columns of one character: of its first scalar, or two if it is shown as an emoji.
  public static func of(_ character: Character) -> Int {
    guard let first = character.unicodeScalars.first else { return 0 }
    if isZeroWidth(first) { return 0 }
    if isWide(first) { return 2 }
    return character.unicodeScalars.contains { $0.value == 0xFE0F } ? 2 : 1
  }

  /// `text` in at most `columns`: elided in the middle, so that both ends can be recognised.
  public static func elided(_ text: String, to columns: Int) -> String {
    guard of(text) > columns else { return text }
    guard columns > 1 else { return columns == 1 ? "\u{2026}" : "" }
    let room = columns - 1
    let head = prefix(text, columns: (room + 1) / 2)
    let tail = String(prefix(String(text.reversed()), columns: room - of(head)).reversed())
    return head + "\u{2026}" + tail
  }

  /// `text` in at most `columns`: its end is left out, with `…` instead.
  public static func cut(_ text: String, to columns: Int) -> String {
    guard of(text) > columns else { return text }
    return columns > 0 ? prefix(text, columns: columns - 1) + "\u{2026}" : ""
  }

  private static func prefix(_ text: String, columns: Int) -> String {
    var (taken, width) = ("", 0)
    for character in text {
      width += of(character)
      guard width <= columns else { break }
      taken.append(character)
    }
    return taken
  }

  private static func isZeroWidth(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .nonspacingMark, .enclosingMark, .format: true
    default: false
    }
  }

  /// East Asian Width W and F (Unicode Standard Annex 11), by blocks.
  private static func isWide(_ scalar: Unicode.Scalar) -> Bool {
    if scalar.properties.isEmojiPresentation { return true }
    return switch scalar.value {
    case 0x1100...0x115F, 0x2E80...0x303E, 0x3041...0x33FF, 0x3400...0x4DBF, 0x4E00...0x9FFF, 0xA000...0xA4CF,
      0xA960...0xA97F, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F, 0xFF00...0xFF60, 0xFFE0...0xFFE6,
      0x1B000...0x1B2FF, 0x20000...0x3FFFD:
      true
    default: false
    }
  }
}
