import CommandSupport
import Glibc
import JSONRPC

/// What a sandbox would allow, for a person and for programs: `lanyard sandbox --show`.
struct SandboxSummary {
  let plan: SandboxPlan
  /// Nil without a network.
  let reach: Reach?
  /// Names of variables.
  let variables: [String]

  /// What the proxy would forward.
  struct Reach {
    /// Where requests get the token of an account.
    var origins: [String] = []
    /// Where programs pass without one.
    var passOrigins: [String] = []
    /// Names of variables that have a placeholder.
    var placeholders: [String] = []

    /// Asks `lanyard-proxy`, which starts nothing.
    init(_ words: [String]) throws(CommandFailure) {
      let ran = try ChildOutput.of(CommandProxy.program(), ["--show"] + words)
      let told = ran.stderr.text(0..<ran.stderr.count)
      if !told.isEmpty { Output.write(told, to: STDERR_FILENO) }
      // It has told the person why.
      if !ran.hasSucceeded { Glibc.exit(ran.status) }
      let read = JSONInput.read(ran.stdout.text(0..<ran.stdout.count)) { root in
        (
          Self.list(root["origins"]), Self.list(root["passOrigins"]),
          root["placeholders"].map { $0.members.compactMap(\.0.string) } ?? []
        )
      }
      guard let read else { throw .notUnderstood }
      (origins, passOrigins, placeholders) = read
    }

    private static func list(_ node: JSONNode?) -> [String] { node.map { $0.elements.compactMap(\.string) } ?? [] }
  }

  func printJSON() {
    var writer = JSONWriter()
    writer.beginObject()
    writer.member("directory", plan.directory)
    writer.member("home", plan.home)
    writer.member("read", plan.system.map(\.path) + plan.reads)
    writer.member("write", [plan.directory] + plan.writes)
    writer.key("keep")
    writer.beginArray()
    for kept in plan.kept {
      writer.beginObject()
      writer.member("directory", kept.inside)
      writer.member("stored", kept.outside)
      writer.endObject()
    }
    writer.endArray()
    writer.member("network", reach != nil)
    writer.member("origins", reach?.origins ?? [])
    writer.member("passOrigins", reach?.passOrigins ?? [])
    writer.member("env", variables)
    writer.endObject()
    writer.withBytes { Output.answer(json: $0) }
  }

  func printText() {
    list("The command reads and writes:", [plan.directory] + plan.writes)
    list("It reads:", plan.reads + [plan.system.map(\.path).joined(separator: " ")])
    list("It keeps for its next run:", plan.kept.map { "\($0.inside) (in \($0.outside))" })
    if let reach {
      list("Its requests get an account's token at:", reach.origins)
      list("It passes without a token to:", reach.passOrigins.map { $0 == "*" ? "* (every public server)" : $0 })
      if reach.origins.isEmpty, reach.passOrigins.isEmpty { Output.answer("It reaches no server: none is allowed.") }
    } else {
      Output.answer("It has no network.")
    }
    Output.answer("It has these variables:")
    let names = variables.joined(separator: " ")
    for line in Text.lines(names, columns: Self.columns, first: "  ", next: "  ") { Output.answer(Text.shown(line)) }
    Output.answer("It sees no other file, process, socket or network of this machine.")
    Output.answer("Its home is empty, and what it writes elsewhere ends with it.")
  }

  private static let columns = 80

  private func list(_ title: String, _ lines: [String]) {
    guard !lines.isEmpty else { return }
    Output.answer(title)
    for line in lines { Output.answer("  " + Text.shown(line)) }
  }
}
