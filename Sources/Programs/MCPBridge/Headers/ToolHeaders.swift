internal import AgentModel
internal import JSONRPC

/// What `x-mcp-header` annotations of a tool say: which arguments are mirrored into which header fields (MCP 2026-07-28,
/// Streamable HTTP, Custom Headers from Tool Parameters).
public struct ToolHeaders: Hashable, Sendable {
  struct Entry: Hashable, Sendable {
    /// `Mcp-Param-…`
    var field: String
    /// The keys that lead from the arguments to the value.
    var path: [String]
  }

  var entries: [Entry] = []

  /// More than a schema that a person wrote.
  private static let maximumEntries = 128

  /// Why a tool is taken out of `tools/list`. The raw value is for the person.
  enum Violation: String, Error {
    case emptyName = "an x-mcp-header without a name"
    case invalidName = "an x-mcp-header that is not the name of a header field"
    case repeatedName = "the same x-mcp-header twice"
    case notPrimitive = "an x-mcp-header on a parameter that is not a string, integer or boolean"
    case notReachable = "an x-mcp-header at a place that is not a property of the arguments"
    case tooMany = "too many x-mcp-header annotations"
  }

  /// Reads a tool's `inputSchema`.
  init(_ schema: JSONNode?) throws(Violation) {
    guard let schema, schema.kind == .object else { return }
    try walk(schema, path: [], isReachable: true)
    var names: Set<String> = []
    for entry in entries where !names.insert(entry.field.lowercased()).inserted { throw .repeatedName }
  }

  /// `path` is empty for the schema of the arguments themselves.
  private mutating func walk(_ schema: JSONNode, path: [String], isReachable: Bool) throws(Violation) {
    for (key, value) in schema.members {
      if key.isText("x-mcp-header") {
        guard isReachable, !path.isEmpty else { throw .notReachable }
        try add(value, of: schema, path)
      } else if key.isText("properties"), value.kind == .object {
        for (name, property) in value.members {
          try walk(property, path: path + [name.string ?? ""], isReachable: isReachable)
        }
      } else if Self.mapsOfSchemas.contains(where: { key.isText($0) }), value.kind == .object {
        for (_, inner) in value.members { try walk(inner, path: path, isReachable: false) }
      } else if !Self.data.contains(where: { key.isText($0) }) {
        if value.kind == .object { try walk(value, path: path, isReachable: false) }
        for element in value.elements where element.kind == .object {
          try walk(element, path: path, isReachable: false)
        }
      }
    }
  }

  /// Keywords whose members are named schemas, so that a name is no annotation.
  private static let mapsOfSchemas: [StaticString] = [
    "$defs", "definitions", "patternProperties", "dependentSchemas",
  ]
  /// Keywords whose values are data.
  private static let data: [StaticString] = ["default", "const", "enum", "examples"]

  private mutating func add(_ name: JSONNode, of schema: JSONNode, _ path: [String]) throws(Violation) {
    guard let text = name.string else { throw .invalidName }
    guard !text.isEmpty else { throw .emptyName }
    guard FieldSyntax.isToken(text) else { throw .invalidName }
    guard let type = schema["type"], Self.isPrimitive(type) else { throw .notPrimitive }
    guard entries.count < Self.maximumEntries else { throw .tooMany }
    entries.append(Entry(field: "Mcp-Param-" + text, path: path))
  }

  /// One primitive type, which may allow null beside it.
  private static func isPrimitive(_ type: JSONNode) -> Bool {
    func isOne(_ node: JSONNode) -> Bool { node.isText("string") || node.isText("integer") || node.isText("boolean") }
    guard type.kind == .array else { return isOne(type) }
    let others = type.elements.filter { !$0.isText("null") }
    return others.count == 1 && isOne(others[0])
  }

  /// The fields for the arguments of a call.
  func fields(for arguments: JSONNode?) -> [(name: String, value: String)] {
    entries.compactMap { entry in
      var node = arguments
      for key in entry.path {
        node = node?.members.first { $0.key.string == key }?.value
      }
      guard let node, let text = Self.text(node) else { return nil }
      return (entry.field, HeaderValue.encode(text))
    }
  }

  /// Nil for null, and for what is no primitive value.
  private static func text(_ node: JSONNode) -> String? {
    switch node.kind {
    case .string: node.string
    case .true: "true"
    case .false: "false"
    case .number: node.integer.map { String($0) } ?? String(decoding: node.raw, as: UTF8.self)
    default: nil
    }
  }
}
