import Foundation

/// Prints the demo: headings, explanations, commands and their output. Uses colour only on a terminal that supports it.
final class Narrator {
  /// Enough to distinguish two tokens (JWTs begin alike), too little to use one.
  private static let shownTokenCharacters = (beginning: 12, end: 5)
  /// Longer lines are hard to read, however wide the terminal is.
  private static let mostColumns = 100

  private var step = 0
  private let hasColour: Bool
  private let columns: Int

  init() {
    let environment = ProcessInfo.processInfo.environment
    hasColour = isatty(1) == 1 && environment["NO_COLOR", default: ""].isEmpty && environment["TERM"] != "dumb"
    columns = min(Terminal.columns, Self.mostColumns)
  }

  func heading(_ text: String) {
    step += 1
    Terminal.print("\n" + styled("\(step). \(text)", "1"))
  }

  /// An explanation.
  func say(_ text: String) { Terminal.print(wrapped(text, indentation: "   ")) }

  /// An explanation after output.
  func next(_ text: String) {
    Terminal.print("")
    say(text)
  }

  func command(_ text: String) { Terminal.print("\n   " + styled("$ " + Self.cut(text), "36")) }

  func output(_ text: String) {
    for line in text.split(separator: "\n", omittingEmptySubsequences: false).dropLast(text.hasSuffix("\n") ? 1 : 0) {
      let indentation = "   " + line.prefix { $0 == " " }
      let words = line.drop { $0 == " " }
      // The columns of a table stay as they are.
      let isTable = words.contains("  ")
      Terminal.print(
        isTable || words.isEmpty
          ? Self.cut(words.isEmpty ? "" : indentation + words)
          : wrapped(Self.cut(String(words), width: .max), indentation: indentation))
    }
  }

  /// The contents of a file, as a listing.
  func listing(_ text: String) {
    for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
      Terminal.print("   " + styled("│ ", "2") + line)
    }
  }

  /// A result that the demo has checked.
  func checked(_ text: String) {
    Terminal.print(wrapped(text, indentation: "     ", first: "   " + styled("✓ ", "32")))
  }

  func failure(_ text: String) {
    Terminal.complain("\n" + styled("✗ Not as described: ", "31") + Self.cut(text, width: .max))
  }

  private func styled(_ text: String, _ code: String) -> String { hasColour ? "\u{1B}[\(code)m\(text)\u{1B}[0m" : text }

  private func wrapped(_ text: String, indentation: String, first: String? = nil) -> String {
    var lines: [String] = []
    var line = ""
    for word in text.split(whereSeparator: \.isWhitespace) {
      if !line.isEmpty, indentation.count + line.count + 1 + word.count > columns {
        lines.append(line)
        line = ""
      }
      line += line.isEmpty ? word : " \(word)"
    }
    lines.append(line)
    return lines.enumerated().map { ($0 == 0 ? first ?? indentation : indentation) + $1 }.joined(separator: "\n")
  }

  /// Shortens tokens: they do not belong into a terminal's scrollback.
  private static func cut(_ text: String, width: Int = 160) -> String {
    let shown = text.replacing(#/[A-Za-z0-9._\-]{60,}/#) { match in
      match.output.prefix(shownTokenCharacters.beginning) + "…" + match.output.suffix(shownTokenCharacters.end)
    }
    return shown.count <= width ? shown : shown.prefix(width - 1) + "…"
  }
}
