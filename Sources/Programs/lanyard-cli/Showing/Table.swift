import ArgumentParser
import CommandSupport

/// A table. On a terminal it fits the width: long cells are elided in the middle. Elsewhere every cell is whole.
struct Table {
  struct Cell: ExpressibleByStringLiteral {
    var text: String
    var style: Style?

    init(_ text: String, _ style: Style? = nil) {
      self.text = Text.shown(text)
      self.style = style
    }

    init(stringLiteral text: String) { self.init(text) }
  }

  private var rows: [[Cell]]
  /// Columns that are elided only where no other can give a column away.
  private let whole: Set<Int>
  private static let gap = 2

  /// `whole`: titles of columns that lose their sense when they are elided, such as moments.
  init(_ titles: [String], whole: Set<String> = []) {
    rows = [titles.map { Cell($0, .faint) }]
    self.whole = Set(titles.indices.filter { whole.contains(titles[$0]) })
  }

  mutating func add(_ row: [Cell]) { rows.append(row) }

  /// The lines for a screen of that many columns; nil for no limit.
  func lines(columns: Int?) -> [String] {
    let widths = widths(columns: columns)
    return rows.map { row in
      var line = ""
      for (column, cell) in row.enumerated() {
        let text = TextWidth.elided(cell.text, to: widths[column])
        line += cell.style?(text) ?? text
        if column < row.count - 1 {
          line += String(repeating: " ", count: widths[column] - TextWidth.of(text) + Self.gap)
        }
      }
      while line.last == " " { line.removeLast() }
      return line
    }
  }

  /// As wide as the widest cell. While the table is wider than the screen, the widest column gives a column away, but
  /// keeps its title. A screen too narrow for the titles is exceeded.
  private func widths(columns: Int?) -> [Int] {
    var widths = rows[0].indices.map { column in rows.map { TextWidth.of($0[column].text) }.max() ?? 0 }
    guard let columns else { return widths }
    let least = rows[0].map { max(TextWidth.of($0.text), 1) }
    var excess = widths.reduce(0, +) + Self.gap * (widths.count - 1) - columns
    for columns in [widths.indices.filter { !whole.contains($0) }, Array(widths.indices)] {
      while excess > 0, let widest = columns.filter({ widths[$0] > least[$0] }).max(by: { widths[$0] < widths[$1] }) {
        widths[widest] -= 1
        excess -= 1
      }
    }
    return widths
  }

  func print(_ options: TableOptions? = nil) {
    let columns = Terminal.showsAnswers && options?.wide != true ? Terminal.answerColumns : nil
    for line in lines(columns: columns) { Output.answer(line) }
  }
}

/// The option `--wide` of commands that print a table.
struct TableOptions: ParsableArguments {
  @Flag(name: .long, help: "Show long values whole, also if lines exceed the terminal.")
  var wide = false
}
