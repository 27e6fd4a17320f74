import CommandSupport
import JSONRPC

/// Names and what they stand for, one a line; the names in one column.
struct Facts {
  private var rows: [(name: String, words: String)] = []

  /// Adds a line; nil adds none. The words may carry style, so they come here safe to show.
  mutating func add(_ name: String, styled words: String?) {
    if let words { rows.append((Text.shown(name), words)) }
  }

  mutating func add(_ name: String, _ words: String?) { add(name, styled: words.map(Text.shown)) }

  /// An empty line.
  mutating func gap() { rows.append(("", "")) }

  var lines: [String] {
    let width = rows.map(\.name.count).max() ?? 0
    return rows.map { row in
      guard !row.name.isEmpty else { return "" }
      return Style.faint(row.name) + String(repeating: " ", count: width - row.name.count + 2) + row.words
    }
  }

  func print() { for line in lines { Output.answer(line) } }
}

extension JSONNode {
  /// A value as people read it: strings bare, arrays with commas, everything else as it stands.
  var words: String {
    switch kind {
    case .string: string ?? ""
    case .array: elements.map(\.words).joined(separator: ", ")
    case .object: members.map { "\($0.string ?? ""): \($1.words)" }.joined(separator: ", ")
    case .true: "yes"
    case .false: "no"
    default: text
    }
  }
}
