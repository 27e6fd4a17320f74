/// Python source with indentation.
struct PythonText {
  private(set) var text = ""
  private var depth = 0

  mutating func line(_ line: String = "") {
    text += line.isEmpty ? "\n" : String(repeating: "    ", count: depth) + line + "\n"
  }

  mutating func indented(_ body: (inout PythonText) -> Void) {
    depth += 1
    body(&self)
    depth -= 1
  }

  /// Writes a class or function; `spaced` puts two blank lines before it.
  mutating func block(_ head: String, spaced: Bool = true, _ body: (inout PythonText) -> Void) {
    if spaced {
      line()
      line()
    }
    line(head)
    indented(body)
  }

  /// Writes a doc string of one paragraph.
  mutating func doc(_ text: String) { doc(PythonDoc(text)) }

  /// Writes a doc string: the summary, the paragraphs, and the sections with an entry a line, indented.
  mutating func doc(_ doc: PythonDoc) {
    let width = 119 - 4 * depth
    var rows = escaped(doc.summary).wrapped(at: width - 6)
    for paragraph in doc.paragraphs { rows += [""] + escaped(paragraph).wrapped(at: width) }
    for section in doc.sections where !section.entries.isEmpty {
      rows += ["", "\(section.title):"]
      for entry in section.entries {
        let lines = escaped(entry).wrapped(at: width - 8)
        rows += ["    " + lines[0]] + lines.dropFirst().map { "        " + $0 }
      }
    }
    guard rows.count > 1 else { return line("\"\"\"\(rows[0])\"\"\"") }
    line("\"\"\"" + rows[0])
    for row in rows.dropFirst() { line(row) }
    line("\"\"\"")
  }

  private func escaped(_ text: String) -> String { text.replacing("\\", with: "\\\\") }
}

/// The parts of a doc string.
struct PythonDoc {
  /// `Args`, `Returns`, `Raises` or `Attributes`.
  struct Section {
    var title: String
    var entries: [String]
  }

  var summary: String
  var paragraphs: [String] = []
  var sections: [Section] = []

  init(_ summary: String, paragraphs: [String] = [], sections: [Section] = []) {
    (self.summary, self.paragraphs, self.sections) = (summary, paragraphs, sections)
  }
}
