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
  mutating func doc(_ text: String) { doc(ClientDoc(summary: text)) }

  /// Writes a doc string: the summary, the paragraphs, and the sections with an entry a line, indented.
  mutating func doc(_ doc: ClientDoc, raises commonErrors: [String] = []) {
    let width = 119 - 4 * depth
    var rows = escaped(doc.summary).wrapped(at: width - 6)
    for paragraph in doc.paragraphs { rows += [""] + escaped(paragraph).wrapped(at: width) }
    for section in doc.sections {
      var entries = section.entries.map { "\($0.name): \($0.text)" }
      if section.kind == .errors {
        let names = commonErrors.map { "`\($0)`" }.joined(separator: ", ")
        entries.append("LanyardError: what every call may raise: \(names), and the failures of the connection.")
      }
      guard !entries.isEmpty else { continue }
      rows += ["", "\(Self.title(of: section.kind)):"]
      for entry in entries {
        let lines = escaped(entry).wrapped(at: width - 8)
        rows += ["    " + lines[0]] + lines.dropFirst().map { "        " + $0 }
      }
    }
    guard rows.count > 1 else { return line("\"\"\"\(rows[0])\"\"\"") }
    line("\"\"\"" + rows[0])
    for row in rows.dropFirst() { line(row) }
    line("\"\"\"")
  }

  private static func title(of kind: ClientDoc.Section.Kind) -> String {
    switch kind {
    case .members: "Attributes"
    case .arguments: "Args"
    case .result: "Returns"
    case .errors: "Raises"
    }
  }

  private func escaped(_ text: String) -> String { text.replacing("\\", with: "\\\\") }
}
