extension Text {
  /// `text` with each line that is longer than `columns` broken at spaces, indented as it begins. Shorter lines stay as
  /// they are.
  public static func fitted(_ text: String, columns: Int) -> String {
    text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
      guard TextWidth.of(line) > columns else { return String(line) }
      let margin = String(line.prefix { $0 == " " })
      let end = String(line.reversed().prefix { $0 == " " })
      return lines(String(line), columns: columns, first: margin, next: margin).joined(separator: "\n") + end
    }.joined(separator: "\n")
  }

  /// Lines of at most `columns`, broken at spaces: `first` stands before the first one, `next` before the others. A word
  /// that is longer than a line and a command in backticks stay whole, so that they can be copied.
  public static func lines(_ text: String, columns: Int, first: String, next: String) -> [String] {
    var lines: [String] = []
    for piece in pieces(of: text) {
      if let last = lines.last, TextWidth.of(last) + 1 + TextWidth.of(piece) <= columns {
        lines[lines.count - 1] = last + " " + piece
      } else {
        lines.append((lines.isEmpty ? first : next) + piece)
      }
    }
    return lines
  }

  /// Lines of at most `columns`, broken between words; a longer word is broken where the line ends. Never empty.
  public static func folded(_ text: String, columns: Int) -> [String] {
    var lines: [(text: String, width: Int)] = []
    for word in text.split(separator: " ", omittingEmptySubsequences: true) {
      let width = TextWidth.of(word)
      if let last = lines.last, last.width + 1 + width <= columns {
        lines[lines.count - 1] = (last.text + " " + word, last.width + 1 + width)
        continue
      }
      lines.append(("", 0))
      for character in word {
        let more = TextWidth.of(character)
        if lines[lines.count - 1].width + more > columns, lines[lines.count - 1].width > 0 { lines.append(("", 0)) }
        lines[lines.count - 1].text.append(character)
        lines[lines.count - 1].width += more
      }
    }
    return lines.isEmpty ? [""] : lines.map(\.text)
  }

  /// The words of a text; a command in backticks counts as one. A backtick without another begins nothing.
  /// `keepsGaps`: several spaces in a row give empty words.
  public static func pieces(of text: String, keepsGaps: Bool = false) -> [String] {
    var pieces: [String] = []
    let hasPairs = text.count { $0 == "`" }.isMultiple(of: 2)
    var isOpen = false
    for word in text.split(separator: " ", omittingEmptySubsequences: !keepsGaps) {
      if isOpen { pieces[pieces.count - 1] += " " + word } else { pieces.append(String(word)) }
      if hasPairs, !word.count(where: { $0 == "`" }).isMultiple(of: 2) { isOpen.toggle() }
    }
    return pieces
  }
}
