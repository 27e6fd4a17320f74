import CommandSupport
import JSONRPC

/// Absolute paths: the agent has another working directory than this command.
enum BackupPath {
  static func absolute(_ path: String) throws(CommandFailure) -> String {
    guard !path.hasPrefix("/") else { return path }
    guard AgentPaths.workingDirectory != nil else {
      throw .usage("The working directory is not known. Give an absolute path instead of \(path).")
    }
    var path = path[...]
    while path.hasPrefix("./") { path = path.dropFirst(2) }
    return AgentPaths.absolute(String(path))
  }
}

/// `3 accounts`, `1 policy`.
enum Counted {
  static func text(_ count: Int64?, _ one: String, _ several: String? = nil) -> String {
    let count = count ?? 0
    return "\(count) \(count == 1 ? one : several ?? one + "s")"
  }
}

/// Notes about the items that a backup or a restore left out.
enum SkippedItems {
  static func tell(_ items: JSONNode?) {
    guard let items else { return }
    for item in items.elements {
      let kind = item["kind"]?.string ?? "something"
      let name = item["name"]?.string ?? ""
      Output.note(Text.shown("Left out: \(noun(kind)) \(name): \(reason(item["reason"]?.string ?? "", kind))"))
    }
  }

  static func areAllThere(_ items: JSONNode?) -> Bool {
    items.map { items in items.elements.allSatisfy { $0["reason"]?.string == "alreadyThere" } } ?? true
  }

  private static func noun(_ kind: String) -> String { kind == "refreshToken" ? "the refresh token of" : "\(kind)" }

  private static func reason(_ reason: String, _ kind: String) -> String {
    switch reason {
    case "alreadyThere": "it exists here already and was not changed."
    case "nameTaken": "another account has this name. The account has no alias now."
    case "providerDiffers": "here, another provider has the name of its provider."
    case "damaged": "it is damaged. `lanyard doctor` says what can be done."
    case "inUse": "it was in use. Sign in again after the restore."
    case "tooMany": "the agent's limit is reached."
    default: "\(reason)."
    }
  }
}

/// Waits for a slow method and shows a status line. Ctrl-C ends the wait; the agent finishes the work.
struct LongWork {
  private let message: String
  private static let pauseMilliseconds: Int32 = 250

  init(_ message: String) { self.message = message }

  func wait(
    for id: Int64, via agent: inout AgentConnection,
    _ result: (JSONNode) throws(CommandFailure) -> Void
  ) throws(CommandFailure) {
    var line = StatusLine()
    defer { line.clear() }
    let interruption = try Interruption()
    defer { interruption.end() }
    var waits: Int32 = 0
    while true {
      let answered = try agent.answer(to: id) { (node) throws(CommandFailure) in
        line.clear()
        try result(node)
        return true
      }
      if answered != nil { return }
      // The status line appears after the first pause, so quick work prints none.
      if Terminal.showsNotes, waits > 0 {
        line.show("\(message)\(String(repeating: ".", count: Int(waits) % 4))")
      }
      switch try agent.wait(interruption: interruption, milliseconds: Self.pauseMilliseconds) {
      case .interrupted:
        throw CommandFailure(
          .interrupted, name: "interrupted", "Interrupted. The agent finishes the work all the same.")
      case .timeout: waits += 1
      case .bytes, .other: break
      }
    }
  }
}
