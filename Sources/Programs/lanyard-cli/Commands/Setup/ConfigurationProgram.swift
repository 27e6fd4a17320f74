import CommandSupport
import Glibc

/// A tool that reads and checks its own configuration.
struct ConfigurationProgram {
  let tool: SetupTool
  /// The first words of each call, after the program's name.
  let words: [String]

  func run(_ more: [String]) throws(CommandFailure) -> ChildOutput {
    guard let path = AgentPaths.program(tool.rawValue) else { throw tool.missing }
    return try ChildOutput.of(path, words + more)
  }

  /// The lines of its answer; none for the status `none`.
  func lines(_ more: [String], none: Int32? = nil) throws(CommandFailure) -> [String] {
    let ran = try run(more)
    guard ran.hasSucceeded || ran.status == none else { throw failure(ran) }
    return ran.stdout.text(0..<ran.stdout.count).split(separator: "\n").map(String.init)
  }

  func change(_ more: [String]) throws(CommandFailure) {
    let ran = try run(more)
    guard ran.hasSucceeded else { throw failure(ran) }
  }

  private func failure(_ ran: ChildOutput) -> CommandFailure {
    CommandFailure(
      .other, name: "setupFailed",
      "\(tool.rawValue) \(words.first ?? "") failed: \(ran.complaint) Nothing was changed.")
  }

  /// Lets the tool read, or change, a copy of a text in a file of its own, and returns the copy.
  static func withCopy(
    of text: String, beside path: String, _ body: (String) throws(CommandFailure) -> Void
  ) throws(CommandFailure) -> String {
    let copy = "\(path).lanyard-copy-\(getpid())"
    try SetupFile.makeDirectories(AgentPaths.directory(of: path))
    unlink(copy)
    try SetupFile(copy).replace(by: text, keepingEmpty: true)
    defer { unlink(copy) }
    try body(copy)
    return try SetupFile(copy).text
  }
}
