import CommandSupport
import JSONRPC

/// The text of a kubeconfig, in YAML or JSON.
struct KubeconfigText {
  private let text: String
  /// With CR where they end with CR LF.
  private let lines: [String]

  init(_ text: String) {
    self.text = text
    lines = text.utf8.split(separator: 0x0A, omittingEmptySubsequences: false).map { String(Substring($0)) }
  }

  /// True if a line has a comment, or what may be one.
  var hasComments: Bool { text.utf8.contains(UInt8(ascii: "#")) }

  /// The text with a user before the others. Nil for a form in which their place is not found.
  func inserting(_ name: String, _ command: [String]) -> String? {
    guard !text.drop(while: \.isWhitespace).hasPrefix("{") else { return inJSON(name, command) }
    let mark = lines.count > 1 && lines[0].utf8.last == 0x0D ? "\r" : ""
    let user = Self.user(name, command).map { $0 + mark }
    var all = lines
    if text.allSatisfy(\.isWhitespace) {
      all.insert(contentsOf: ["apiVersion: v1", "kind: Config", "users:"].map { $0 + mark } + user, at: all.count - 1)
      return all.joined(separator: "\n")
    }
    // Another document, or a key in another spelling.
    let isPlain = lines.allSatisfy { line in
      !["---", "...", "\"users", "'users", "? "].contains { line.hasPrefix($0) }
    }
    let places = lines.indices.filter { lines[$0].hasPrefix("users") }
    guard isPlain, places.count <= 1 else { return nil }
    // A last line without an end gets one.
    if all.last != "" {
      all[all.count - 1] += mark
      all.append("")
    }
    guard let place = places.first else {
      all.insert(contentsOf: ["users:" + mark] + user, at: all.count - 1)
      return all.joined(separator: "\n")
    }
    let value = lines[place].dropFirst("users".count).filter { !$0.isWhitespace }
    switch value {
    case ":": break
    // An empty list.
    case ":null", ":~", ":[]": all[place] = "users:" + mark
    default: guard value.hasPrefix(":#") else { return nil }
    }
    // The first item of the list, or the next key of the document.
    let next = lines[(place + 1)...].first { line in
      let text = line.drop(while: \.isWhitespace)
      return !text.isEmpty && !text.hasPrefix("#")
    }
    let margin = next.map { String($0.prefix { $0 == " " }) } ?? ""
    let isItem = next.map { ["-", "- "].contains($0.dropFirst(margin.count).prefix(2)) } ?? false
    guard isItem || margin.isEmpty else { return nil }
    all.insert(contentsOf: user.map { (isItem ? margin : "") + $0 }, at: place + 1)
    return all.joined(separator: "\n")
  }

  /// In front of the list `users` of a JSON text, which is one object without comments.
  private func inJSON(_ name: String, _ command: [String]) -> String? {
    guard EditedJSON(text, allowsComments: false) != nil else { return nil }
    let user = Self.json(name, command)
    var text = text
    return text.withUTF8 { bytes -> String? in
      let bytes = UnsafeRawBufferPointer(bytes)
      return JSONInput.read(bytes) { root -> String? in
        guard !root.hasDuplicateKeys else { return nil }
        let users = root["users"]
        guard users.map({ $0.kind == .array }) ?? true else { return nil }
        let isEmpty = users.map { $0.elements.first { _ in true } == nil } ?? (root.members.first { _ in true } == nil)
        let inserted = (users == nil ? "\"users\":[\(user)]" : user) + (isEmpty ? "" : ",")
        let place = (users ?? root).raw.baseAddress! - bytes.baseAddress! + 1
        return String(decoding: Array(bytes[..<place]) + Array(inserted.utf8) + Array(bytes[place...]), as: UTF8.self)
      } ?? nil
    }
  }

  private static func user(_ name: String, _ command: [String]) -> [String] {
    // A text of JSON is one of YAML (YAML 1.2 §5.7).
    [
      "- name: \(JSONValue.quoted(name))", "  user:", "    exec:",
      "      apiVersion: client.authentication.k8s.io/v1", "      args:",
    ] + command.dropFirst().map { "      - \(JSONValue.quoted($0))" } + [
      "      command: \(JSONValue.quoted(command[0]))", "      env: null", "      interactiveMode: IfAvailable",
      "      provideClusterInfo: false",
    ]
  }

  private static func json(_ name: String, _ command: [String]) -> String {
    let exec =
      "{\"apiVersion\":\"client.authentication.k8s.io/v1\",\"args\":"
      + JSONValue.texts(Array(command.dropFirst())).laidOut(nil)
      + ",\"command\":\(JSONValue.quoted(command[0])),\"interactiveMode\":\"IfAvailable\",\"provideClusterInfo\":false}"
    return "{\"name\":\(JSONValue.quoted(name)),\"user\":{\"exec\":\(exec)}}"
  }
}
