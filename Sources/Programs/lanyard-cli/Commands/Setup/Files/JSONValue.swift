import CommandSupport
import JSONRPC

/// A value that `lanyard setup` writes into a JSON file.
indirect enum JSONValue {
  case text(String)
  case texts([String])
  case object([(name: String, value: JSONValue)])

  /// Objects in each other, by the names of `path`, with the value innermost.
  static func object(nesting path: [String], _ value: JSONValue) -> JSONValue {
    path.reversed().reduce(value) { .object([(name: $1, value: $0)]) }
  }

  /// True for the same value, in whatever order its members are.
  func matches(_ node: JSONNode) -> Bool {
    switch self {
    case .text(let text): return node.string == text
    case .texts(let texts): return node.kind == .array && node.elements.map(\.string) == texts
    case .object(let members):
      guard node.kind == .object, !node.hasDuplicateKeys, node.members.map({ _ in 1 }).count == members.count else {
        return false
      }
      return members.allSatisfy { name, value in
        node.members.contains { $0.key.string == name && value.matches($0.value) }
      }
    }
  }

  /// A line for each member of an object; one line without a layout.
  func laidOut(_ layout: JSONLayout?) -> String {
    switch self {
    case .text(let text): return Self.quoted(text)
    case .texts(let texts): return "[\(texts.map(Self.quoted).joined(separator: layout == nil ? "," : ", "))]"
    case .object(let members):
      guard let layout else { return "{\(members.map { $0.value.member($0.name, nil) }.joined(separator: ","))}" }
      let inner = layout.indented(by: layout.margin + layout.indent)
      let lines = members.map { inner.margin + $0.value.member($0.name, inner) }
      return "{" + layout.lineEnd + lines.joined(separator: "," + layout.lineEnd) + layout.lineEnd + layout.margin + "}"
    }
  }

  /// The value with its name before it.
  func member(_ name: String, _ layout: JSONLayout?) -> String {
    Self.quoted(name) + (layout == nil ? ":" : ": ") + laidOut(layout)
  }

  static func quoted(_ text: String) -> String {
    var writer = JSONWriter()
    writer.string(text)
    return writer.withBytes { String(decoding: $0, as: UTF8.self) }
  }
}

/// How a JSON file is laid out.
struct JSONLayout {
  var lineEnd = "\n"
  var indent = "  "
  /// The space before the line on which a value begins.
  var margin = ""

  func indented(by margin: String) -> JSONLayout { JSONLayout(lineEnd: lineEnd, indent: indent, margin: margin) }
}
