import CommandSupport
import JSONRPC

/// A member of an object in a JSON file, such as `credHelpers` of docker. The rest of the file stays as it is.
struct JSONEntry: FileChange {
  let place: String
  /// The names of the objects that lead to the member, and its own.
  let path: [String]
  let value: JSONValue
  /// True for a tool that reads comments and trailing commas.
  var allowsComments = false

  var file: String { place }

  var lines: [String] {
    JSONValue.object(nesting: path, value).laidOut(JSONLayout()).split(separator: "\n").map(String.init)
  }

  func state(in file: SetupFile) throws(CommandFailure) -> SetupState {
    try read(file).withRoot { root in
      guard !root.hasDuplicateKeys else { return .taken("the file has a name twice") }
      var node = root
      for (depth, name) in path.enumerated() {
        guard node.kind == .object else { return .taken("\(path[..<depth].joined(separator: ".")) is not an object") }
        guard let member = node.members.first(where: { $0.key.string == name })?.value else { return .absent }
        node = member
      }
      return value.matches(node)
        ? .present : .taken("\(path.joined(separator: ".")): \(Self.shown(node))", byName: true)
    } ?? .absent
  }

  func applied(to file: SetupFile) throws(CommandFailure) -> String { try read(file).setting(path, to: value) }

  func removed(from file: SetupFile) throws(CommandFailure) -> String? {
    guard try state(in: file) == .present else { return nil }
    return try read(file).removing(path)
  }

  private func read(_ file: SetupFile) throws(CommandFailure) -> EditedJSON {
    guard let json = EditedJSON(file.text, allowsComments: allowsComments) else {
      throw StoreFile.malformed(file.path, allowsComments ? "a JSON object" : "a JSON object, without comments")
    }
    return json
  }

  /// The other value, for a message. An object may hold a secret of the person, in `env` or `headers`.
  private static func shown(_ node: JSONNode) -> String { node.kind == .object ? "another entry" : node.text }
}
