internal import CommandSupport
internal import Glibc
internal import UsageWords

/// The arguments of `lanyard-mcp --self`.
struct AgentServerOptions {
  /// For tools that name no account.
  var account = "@active"
  /// Start an agent if none runs.
  var mayStart = true
  var isQuiet = false

  static func areIn(_ words: [String]) -> Bool { words.contains("--self") }

  /// - Throws: also where no grant is named, since without one the tools would reach all accounts, and where its file can't
  ///   be read.
  init(_ words: [String]) throws(Options.Ending) {
    var rest = words[...]
    var grant: String?
    while let word = rest.popFirst() {
      let parts = word.hasPrefix("--") ? word.split(separator: "=", maxSplits: 1).map(String.init) : [word]
      switch parts.first ?? "" {
      case "--help", "-h": throw .help
      case "--version": throw .version
      case "--self", "--json": break
      case "--no-start": mayStart = false
      case "--quiet", "-q": isQuiet = true
      case "--account", "-u", "--grant":
        guard let value = parts.count > 1 ? parts[1] : rest.popFirst(), !value.isEmpty else {
          throw .usage(Mistake.missingValue(of: parts[0]))
        }
        if parts[0] == "--grant" { grant = value } else { account = value }
      case "--no-browser", "--name", "--client-id", "--ca-file", "--proxy":
        throw .usage("\(parts[0]) does not go with --self.")
      default: throw .usage(Mistake.unknown(word))
      }
    }
    // The handshake of each connection reads it, before the first thread.
    if let grant { setenv("LANYARD_GRANT_FILE", grant, 1) }
    guard let file = Environment.value("LANYARD_GRANT_FILE") else {
      throw .usage(
        "These tools need a grant, which says what they reach: --grant FILE, or LANYARD_GRANT_FILE.",
        hints: [
          "Make one: `lanyard grant create NAME --agent --can requests --can status --can decisions -m operation.list "
            + "--to FILE`."
        ])
    }
    // Each connection reads it anew. What is wrong from the start is told before an AI agent relies on the tools.
    guard access(file, R_OK) == 0 else {
      throw .usage("The file of the grant, \(file), can't be read: \(SystemError.message(errno)).")
    }
  }
}
