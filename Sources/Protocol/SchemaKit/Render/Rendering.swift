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
  /// Every generated file, in a fixed order.
  public var rendered: [RenderedFile] {
    SwiftRenderer(self).files + [
      RenderedFile(path: "Schemas/generated/openrpc.json", text: OpenRPCDocument(contract: self).value.pretty),
      RenderedFile(path: "Schemas/generated/reference.md", text: ReferenceRenderer(self).text),
      RenderedFile(path: "Clients/python/src/lanyard/_generated.py", text: PythonRenderer(self).text),
    ]
  }
}

/// Swift source with indentation.
struct SourceText {
  private(set) var text = ""
  private var depth = 0

  mutating func line(_ line: String = "") {
    text += line.isEmpty ? "\n" : String(repeating: "  ", count: depth) + line + "\n"
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
    for row in text.wrapped(at: 114 - 2 * depth) { line("/// " + row) }
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

  func wrapped(at width: Int) -> [String] {
    var rows: [String] = []
    for word in split(separator: " ") {
      if let last = rows.last, last.count + 1 + word.count <= width {
        rows[rows.count - 1] = last + " " + word
      } else {
        rows.append(String(word))
      }
    }
    return rows
  }
}
