import CommandSupport
import JSONRPC

/// Prints JSON over several lines, for a person to edit. Keeps the text of values; short values stay on one line.
enum LaidOutJSON {
  private static let width = 100

  static func text(_ node: JSONNode) -> String {
    lines(node, indent: "").map(Text.shown).joined(separator: "\n")
  }

  private static func lines(_ node: JSONNode, indent: String) -> [String] {
    let flat = flat(node)
    if flat.count + indent.count <= width, node.kind != .object || indent.count >= 4 { return [flat] }
    switch node.kind {
    case .object:
      let parts = node.members.map { key, value in (key.text + ": ", value) }
      return block("{", "}", parts, indent)
    case .array: return block("[", "]", node.elements.map { ("", $0) }, indent)
    default: return [flat]
    }
  }

  private static func block(
    _ open: String, _ close: String, _ parts: [(name: String, value: JSONNode)], _ indent: String
  ) -> [String] {
    guard !parts.isEmpty else { return [open + close] }
    let inner = indent + "  "
    var all = [open]
    for (number, part) in parts.enumerated() {
      var inside = lines(part.value, indent: inner)
      inside[0] = inner + part.name + inside[0]
      if number < parts.count - 1 { inside[inside.count - 1] += "," }
      all += inside
    }
    return all + [indent + close]
  }

  private static func flat(_ node: JSONNode) -> String {
    switch node.kind {
    case .object:
      let members = node.members.map { key, value in "\(key.text): \(flat(value))" }
      return members.isEmpty ? "{}" : "{ " + members.joined(separator: ", ") + " }"
    case .array: return "[" + node.elements.map(flat).joined(separator: ", ") + "]"
    default: return node.text
    }
  }
}
