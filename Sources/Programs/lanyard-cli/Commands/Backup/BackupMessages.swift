import CommandSupport
import Glibc
import JSONRPC

/// The agent stands in another directory than the person.
enum BackupPath {
  static func absolute(_ path: String) throws(CommandFailure) -> String {
    guard !path.hasPrefix("/") else { return path }
    guard let here = getcwd(nil, 0) else { throw .usage("\(path) can't be found from here: give an absolute path.") }
    defer { free(here) }
    var path = path[...]
    while path.hasPrefix("./") { path = path.dropFirst(2) }
    let directory = String(cString: here)
    return directory == "/" ? "/\(path)" : "\(directory)/\(path)"
  }
}

/// `3 accounts`, `1 policy`.
enum Counted {
  static func words(_ count: Int64?, _ one: String, _ several: String? = nil) -> String {
    let count = count ?? 0
    return "\(count) \(count == 1 ? one : several ?? one + "s")"
  }
}

/// What a backup or a restore left out, told beside the answer.
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
    case "alreadyThere": "it is here already, and stays as it is."
    case "nameTaken": "another account has this name, so this one came without it."
    case "providerDiffers": "its provider's name is another provider's here."
    case "damaged": "it does not open. `lanyard doctor` says what can be done."
    case "inUse": "it was on its way to the provider. Sign in again after restoring."
    case "tooMany": "there are as many as the agent takes."
    default: "\(reason)."
    }
  }
}

/// Work of the agent that takes a while, and may be left to itself.
struct LongWork {
  private let words: String
  private static let pauseMilliseconds: Int32 = 250

  init(_ words: String) { self.words = words }

  func wait(
    for method: String, _ id: Int64, over agent: inout AgentConnection,
    _ result: (JSONNode) throws(CommandFailure) -> Void
  ) throws(CommandFailure) {
    var line = StatusLine()
    defer { line.clear() }
    let interruption = try Interruption()
    defer { interruption.end() }
    var waits: Int32 = 0
    while true {
      let answered = try agent.answer(to: id, of: method) { (node) throws(CommandFailure) in
        line.clear()
        try result(node)
        return true
      }
      if answered != nil { return }
      // Quick work says nothing.
      if Terminal.showsNotes, waits > 0 {
        line.show("\(words)\(String(repeating: ".", count: Int(waits) % 4))")
      }
      switch try agent.wait(interruption: interruption, milliseconds: Self.pauseMilliseconds) {
      case .interrupted: throw Interruption.failure
      case .timeout: waits += 1
      case .bytes: break
      }
    }
  }
}
