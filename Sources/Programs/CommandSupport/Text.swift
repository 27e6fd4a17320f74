internal import JSONRPC

/// Makes text from outside safe to show on a terminal.
public enum Text {
  /// Replaces characters that are not seen: a display name or a provider's error text must not move the cursor or disguise
  /// itself.
  public static func shown(_ text: String) -> String {
    guard text.unicodeScalars.contains(where: \.isHidden) else { return text }
    var shown = String.UnicodeScalarView()
    for scalar in text.unicodeScalars { shown.append(scalar.isHidden ? "\u{FFFD}" : scalar) }
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
}
