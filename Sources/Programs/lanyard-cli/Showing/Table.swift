import CommandSupport

/// A table whose columns are as wide as their widest cell.
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

  init(_ titles: [String]) { rows = [titles.map { Cell($0, .faint) }] }

  mutating func add(_ row: [Cell]) { rows.append(row) }

  var lines: [String] {
    let widths = rows[0].indices.map { column in rows.map { $0[column].text.count }.max() ?? 0 }
    return rows.map { row in
      var line = ""
      for (column, cell) in row.enumerated() {
        line += cell.style?(cell.text) ?? cell.text
        if column < row.count - 1 { line += String(repeating: " ", count: widths[column] - cell.text.count + 2) }
      }
      while line.last == " " { line.removeLast() }
      return line
    }
  }

  func print() { for line in lines { Output.answer(line) } }
}
