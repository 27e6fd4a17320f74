import CommandSupport
import JSONRPC

/// A list of names with values, aligned in two columns.
struct Facts {
  private var rows: [(name: String, value: String)] = []

  /// Adds a line; nil adds none. The words may hold style codes, so the caller makes them safe with `Text.shown`.
  mutating func add(_ name: String, styled value: String?) {
    if let value { rows.append((Text.shown(name), value)) }
  }

  mutating func add(_ name: String, _ value: String?) { add(name, styled: value.map(Text.shown)) }

  /// Adds an empty line.
  mutating func gap() { rows.append(("", "")) }

  var lines: [String] { lines(indent: 0) }

  /// On a terminal, long values wrap within their column. Elsewhere each fact is one line.
  func lines(indent: Int) -> [String] {
    let width = (rows.map(\.name.count).max() ?? 0) + 2
    let margin = String(repeating: " ", count: indent)
    let room = Terminal.showsAnswers ? max(20, Terminal.columns - indent - width) : Int.max
    return rows.flatMap { row -> [String] in
      guard !row.name.isEmpty else { return [""] }
      let folded = Self.folded(row.value, within: room)
      let first = margin + Style.faint(row.name) + String(repeating: " ", count: width - row.name.count) + folded[0]
      return [first] + folded.dropFirst().map { String(repeating: " ", count: indent + width) + $0 }
    }
  }

  /// Breaks `value` between words, and no command in backticks that fits a line; never empty.
  private static func folded(_ value: String, within room: Int) -> [String] {
    var lines: [(text: String, count: Int)] = []
    let pieces = Text.pieces(of: value, keepsGaps: true)
    let words = pieces.flatMap { seen($0) <= room ? [$0] : $0.split(separator: " ").map(String.init) }
    for word in words {
      let count = seen(word)
      if let last = lines.last, last.count + 1 + count <= room {
        lines[lines.count - 1] = (last.text + " " + word, last.count + 1 + count)
      } else {
        lines.append((word, count))
      }
    }
    return lines.isEmpty ? [""] : lines.map(\.text)
  }

  /// The columns of the visible characters: of all but style codes.
  private static func seen(_ word: String) -> Int {
    var isStyle = false
    return word.reduce(into: 0) { count, character in
      if character == "\u{1B}" { isStyle = true }
      if !isStyle { count += TextWidth.of(character) }
      if character == "m" { isStyle = false }
    }
  }

  func print() { for line in lines { Output.answer(line) } }
}

extension JSONNode {
  /// The value for a person: strings without quotes, arrays with commas, yes and no.
  var displayText: String {
    switch kind {
    case .string: string ?? ""
    case .array: elements.map(\.displayText).joined(separator: ", ")
    case .object: members.map { "\($0.string ?? ""): \($1.displayText)" }.joined(separator: ", ")
    case .true: "yes"
    case .false: "no"
    default: text
    }
  }
}
