/// A file generated from the contract.
public struct RenderedFile: Sendable, Hashable {
  /// Path relative to the project directory.
  public var path: String
  /// The whole content.
  public var text: String

  public init(path: String, text: String) {
    self.path = path
    self.text = text
  }
}

extension Contract {
  /// The result of `rpc.discover`, indented.
  public var openRPC: String { OpenRPCDocument(contract: self).value.pretty }
}

/// Source of a language with braces and line comments, with indentation.
struct SourceText {
  private(set) var text = ""
  private var depth = 0
  private let indent: String
  private let comment: String
  private let columns: Int

  /// `columns` is the width of a doc comment with what stands before it; a tab counts as four.
  init(indent: String = "  ", comment: String = "/// ", columns: Int = 118) {
    (self.indent, self.comment, self.columns) = (indent, comment, columns)
  }

  mutating func line(_ line: String = "") {
    text += line.isEmpty ? "\n" : String(repeating: indent, count: depth) + line + "\n"
  }

  mutating func indented(_ body: (inout SourceText) -> Void) {
    depth += 1
    body(&self)
    depth -= 1
  }

  /// Writes `head {`, the body and `}`.
  mutating func block(_ head: String, _ body: (inout SourceText) -> Void) {
    line(head + " {")
    indented(body)
    line("}")
  }

  /// Writes a doc comment, wrapped.
  mutating func doc(_ text: String) {
    let width = indent == "\t" ? 4 : indent.count
    for row in text.wrapped(at: columns - comment.count - width * depth) { line(comment + row) }
  }
}

extension String {
  var capitalizedFirst: String { prefix(1).uppercased() + dropFirst() }

  /// `sign_in` for `signIn`; `end_session_url` for `endSessionUrl`.
  var snakeCased: String {
    reduce(into: "") { text, character in
      if character.isUppercase { text += "_" }
      text += character == "." ? "_" : character.lowercased()
    }
  }

  func wrapped(at width: Int) -> [String] { split(separator: " ").rows(of: width) }
}

extension Sequence where Element: StringProtocol {
  /// The words with spaces between them, as many in a row as fit.
  func rows(of width: Int) -> [String] {
    var rows: [String] = []
    for word in self {
      if let last = rows.last, last.count + 1 + word.count <= width {
        rows[rows.count - 1] = last + " " + word
      } else {
        rows.append(String(word))
      }
    }
    return rows
  }
}
