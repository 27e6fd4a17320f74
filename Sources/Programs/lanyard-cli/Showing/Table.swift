import ArgumentParser
import CommandSupport

/// A table. On a terminal it fits the width: some columns are broken between words, others are elided in the middle, and
/// what people type into other commands stays whole. Where that is not enough, each row becomes a list of its cells.
/// Elsewhere every cell is whole and on one line.
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
  private let whole, folded: Set<Int>
  private static let gap = 2
  /// Less of a cell can't be recognised or read.
  private static let leastElided = 10
  private static let leastFolded = 16
  private static let longestWhole = 40
  /// The margin of a row's cells in a list.
  private static let margin = 2

  /// - Parameters:
  ///   - whole: titles of columns that are never cut: names, ids, states and moments.
  ///   - folded: titles of columns with sentences and lists, which are broken between words.
  init(_ titles: [String], whole: Set<String> = [], folded: Set<String> = []) {
    rows = [titles.map { Cell($0, .faint) }]
    self.folded = Set(titles.indices.filter { folded.contains(titles[$0]) })
    self.whole = Set(titles.indices.filter { whole.contains(titles[$0]) || titles[$0].isEmpty }).subtracting(
      self.folded)
  }

  mutating func add(_ row: [Cell]) { rows.append(row) }

  /// The lines for a screen of that many columns; nil for no limit.
  func lines(columns: Int?) -> [String] {
    let natural = rows[0].indices.map { column in rows.map { TextWidth.of($0[column].text) }.max() ?? 0 }
    guard let columns else { return lines(widths: natural) }
    if let widths = widths(natural, columns: columns) { return lines(widths: widths) }
    return rows.dropFirst().flatMap { listed($0, columns: columns) }
  }

  // MARK: As a table

  private func lines(widths: [Int]) -> [String] {
    rows.flatMap { row -> [String] in
      let cells = row.indices.map { column in
        folded.contains(column)
          ? Text.folded(row[column].text, columns: widths[column])
          : [TextWidth.elided(row[column].text, to: widths[column])]
      }
      return (0..<(cells.map(\.count).max() ?? 0)).map { number in
        var line = ""
        for (column, cell) in cells.enumerated() {
          let text = number < cell.count ? cell[number] : ""
          line += row[column].style?(text) ?? text
          if column < row.count - 1 {
            line += String(repeating: " ", count: widths[column] - TextWidth.of(text) + Self.gap)
          }
        }
        while line.last == " " { line.removeLast() }
        return line
      }
    }
  }

  /// While the table is wider than the screen, the widest column that may be narrower gives a column away. Nil if that is
  /// not enough.
  private func widths(_ natural: [Int], columns: Int) -> [Int]? {
    var widths = natural
    let least = natural.indices.map { column in
      guard !whole.contains(column) else { return natural[column] }
      let readable = folded.contains(column) ? max(Self.leastFolded, longestWord(in: column)) : Self.leastElided
      return min(natural[column], max(TextWidth.of(rows[0][column].text), readable))
    }
    var excess = widths.reduce(0, +) + Self.gap * (widths.count - 1) - columns
    while excess > 0 {
      let narrower = widths.indices.filter { widths[$0] > least[$0] }
      guard let widest = narrower.max(by: { widths[$0] < widths[$1] }) else { return nil }
      widths[widest] -= 1
      excess -= 1
    }
    return widths
  }

  /// The columns of the longest word, up to a bound: a longer one is broken.
  private func longestWord(in column: Int) -> Int {
    let words = rows.flatMap { $0[column].text.split(separator: " ") }
    return min(Self.longestWhole, words.map { TextWidth.of($0) }.max() ?? 0)
  }

  // MARK: As a list

  /// The first cell with a title, behind the marks before it; below it the others, each with its title. Cells without
  /// anything are left out.
  private func listed(_ row: [Cell], columns: Int) -> [String] {
    let titles = rows[0].map(\.text)
    let first = titles.firstIndex { !$0.isEmpty } ?? 0
    let marks = row[..<first].map(\.text).filter { $0 != " " && !$0.isEmpty }.map { $0 + " " }.joined()
    var lines = Text.folded(marks + row[first].text, columns: columns).map { (row[first].style ?? .bold)($0) }
    let width = (titles.dropFirst(first + 1).map { TextWidth.of($0) }.max() ?? 0) + Self.gap
    let room = max(Self.leastElided, columns - Self.margin - width)
    for (title, cell) in zip(titles, row).dropFirst(first + 1) where !["", "-", " "].contains(cell.text) {
      for (number, piece) in Text.folded(cell.text, columns: room).enumerated() {
        let name = number == 0 ? title : ""
        lines.append(
          String(repeating: " ", count: Self.margin) + Style.faint(name)
            + String(repeating: " ", count: width - TextWidth.of(name)) + (cell.style?(piece) ?? piece))
      }
    }
    return lines
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
