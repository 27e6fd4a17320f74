import CommandSupport
import JSONRPC

/// A member of an object in a JSON file, such as `credHelpers` of docker. The rest of the file keeps its order and values.
struct JSONEntry: SetupChange {
  let place: String
  /// The names of the objects that lead to the member, and its own.
  let path: [String]
  /// The member's value: a text.
  let value: String

  var lines: [String] {
    var (shown, indent) = (["{"], "  ")
    for name in path.dropLast() {
      shown.append("\(indent)\(Self.quoted(name)): {")
      indent += "  "
    }
    shown.append("\(indent)\(Self.quoted(path[path.count - 1])): \(Self.quoted(value))")
    for _ in path {
      indent.removeLast(2)
      shown.append("\(indent)}")
    }
    return shown
  }

  func state() throws(CommandFailure) -> SetupState {
    let file = try SetupFile(place)
    return try Self.read(file) { root in
      var node = root
      for (depth, name) in path.enumerated() {
        guard node.kind == .object, !node.hasDuplicateKeys else {
          let what = depth == 0 ? "the file" : path[..<depth].joined(separator: ".")
          return .taken("\(what) is no object, or has a name twice")
        }
        guard let member = Self.member(name, of: node) else { return .absent }
        node = member
      }
      return node.string == value ? .present : .taken("\(path.joined(separator: ".")): \(node.text)")
    }
  }

  func apply() throws(CommandFailure) { try rewrite(adding: true) }

  func undo() throws(CommandFailure) {
    guard try state() == .present else { return }
    try rewrite(adding: false)
  }

  private func rewrite(adding: Bool) throws(CommandFailure) {
    let file = try SetupFile(place)
    let indent = file.text.contains("\n\t") ? "\t" : "  "
    let text = try Self.read(file) { root in
      Self.edited(root, path[...], adding ? value : nil, indent: indent, depth: "") ?? ""
    }
    try file.replace(by: text.isEmpty ? "" : text + "\n")
  }

  /// The object with the member set, or removed for nil; nil for an object that would be empty.
  private static func edited(
    _ node: JSONNode?, _ path: ArraySlice<String>, _ value: String?, indent: String, depth: String
  ) -> String? {
    let name = path[path.startIndex]
    let inner = depth + indent
    let isLast = path.count == 1
    func changed(_ old: JSONNode?) -> String? {
      isLast ? value.map(quoted) : edited(old, path.dropFirst(), value, indent: indent, depth: inner)
    }
    var members: [String] = []
    var isThere = false
    for (key, old) in node?.members.map({ ($0.key, $0.value) }) ?? [] {
      if key.string == name {
        isThere = true
        if let new = changed(old) { members.append("\(key.text): \(new)") }
      } else {
        members.append("\(key.text): \(laidOut(old, indent: indent, depth: inner))")
      }
    }
    if !isThere, let new = changed(nil) { members.append("\(quoted(name)): \(new)") }
    guard !members.isEmpty else { return nil }
    return "{\n" + members.map { inner + $0 }.joined(separator: ",\n") + "\n\(depth)}"
  }

  /// Values keep their text; objects and arrays are laid out, a line a member.
  private static func laidOut(_ node: JSONNode, indent: String, depth: String) -> String {
    let inner = depth + indent
    func block(_ open: String, _ parts: [String], _ close: String) -> String {
      parts.isEmpty
        ? open + close : open + "\n" + parts.map { inner + $0 }.joined(separator: ",\n") + "\n" + depth + close
    }
    switch node.kind {
    case .object:
      return block(
        "{", node.members.map { "\($0.key.text): \(laidOut($0.value, indent: indent, depth: inner))" }, "}")
    case .array: return block("[", node.elements.map { laidOut($0, indent: indent, depth: inner) }, "]")
    default: return node.text
    }
  }

  private static func member(_ name: String, of node: JSONNode) -> JSONNode? {
    node.kind == .object ? node.members.first { $0.key.string == name }?.value : nil
  }

  private static func read<Result>(
    _ file: SetupFile, _ body: (JSONNode) -> Result
  ) throws(CommandFailure) -> Result {
    let text = file.text.trimmedLine.isEmpty ? "{}" : file.text
    guard let result = JSONInput.read(text, body) else { throw StoreFile.malformed(file.path, "a JSON object") }
    return result
  }

  private static func quoted(_ text: String) -> String {
    var writer = JSONWriter()
    writer.string(text)
    return writer.withBytes { String(decoding: $0, as: UTF8.self) }
  }
}
