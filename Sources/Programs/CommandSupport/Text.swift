/// Makes text from outside safe to show on a terminal.
public enum Text {
  /// Replaces control characters and marks of writing direction: a display name or a provider's error text must not
  /// move the cursor or disguise itself.
  public static func shown(_ text: String) -> String {
    guard text.unicodeScalars.contains(where: isUnsafe) else { return text }
    var shown = String.UnicodeScalarView()
    for scalar in text.unicodeScalars { shown.append(isUnsafe(scalar) ? "\u{FFFD}" : scalar) }
    return String(shown)
  }

  /// The same for text of several lines.
  public static func shownLines(_ text: String) -> String {
    text.split(separator: "\n", omittingEmptySubsequences: false).map { shown(String($0)) }.joined(separator: "\n")
  }

  /// A word of the contract as a person writes it: `unknown authority` for `unknownAuthority`. What a provider said, such
  /// as `invalid_scope`, stays.
  public static func words(_ name: String) -> String {
    var words = ""
    var wasLower = false
    for character in name {
      // "wrongPIN" keeps its capitals.
      if character.isUppercase, wasLower { words += " " }
      words.append(character)
      wasLower = character.isLowercase
    }
    return words.split(separator: " ")
      .map { $0.dropFirst().contains(where: \.isUppercase) ? String($0) : $0.lowercased() }
      .joined(separator: " ")
  }

  private static func isUnsafe(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0..<0x20, 0x7F..<0xA0: true  // C0, DEL, C1
    case 0x061C, 0x200E, 0x200F, 0x202A...0x202E, 0x2066...0x2069: true  // marks of direction
    case 0x2028, 0x2029: true  // line and paragraph separators
    default: false
    }
  }
}
