internal import Glibc
internal import JSONRPC

/// `lanyard exec ACCOUNT -- COMMAND`, without an option: the command gets the account's token in `LANYARD_TOKEN`.
public struct ExecRequest {
  private let account: String
  private let command: [String]

  /// Parses the arguments after `lanyard`. Nil unless they are `exec` in this form: then `lanyard-cli` takes over, as
  /// `Commands/Exec/Exec.swift` there.
  public init?(arguments: some Sequence<String>) {
    let words = Array(arguments)
    guard words.count > 3, words[0] == "exec", words[2] == "--", !words[1].isEmpty, !words[1].hasPrefix("-") else {
      return nil
    }
    // A stream can be read once, and `lanyard-cli` may have to take over.
    guard !GrantHandshake.isStream else { return nil }
    account = words[1]
    command = Array(words[3...])
  }

  /// Runs the command and returns its exit code. Nil if `lanyard-cli` has to take over, because the account has another
  /// secret than a bearer token: then nothing was run.
  public func run() throws(CommandFailure) -> Int32? {
    let selection = try AccountSelection.choose(argument: account)
    var agent = try Agent.connect(mayStart: true)
    let (id, kind) = try selection.asking(via: &agent) { (account, agent) throws(CommandFailure) in
      try agent.call("account.get", params: { $0.member("account", account) }) { found in
        (found["id"]?.string ?? "", found["kind"]?.string ?? "")
      }
    }
    guard kind != "secret" else { return nil }
    var environment = ChildEnvironment()
    environment.set("LANYARD_ACCOUNT", to: id)
    var isPlain = false
    try environment.set("LANYARD_TOKEN") { (value) throws(CommandFailure) in
      isPlain = try agent.call("token.get", params: { $0.member("account", id) }) { value.writeBearer($0) }
    }
    guard isPlain else { return nil }
    try Self.note(command, id, via: &agent)
    // The agent keeps no place for it while the command runs.
    _ = consume agent
    let signals = try ChildProcess.Signals()
    return ChildProcess.run(command, consume environment, signals)
  }

  /// Has the audit log tell of the command, before it is given anything.
  public static func note(
    _ command: [String], _ account: String, via agent: inout AgentConnection
  ) throws(CommandFailure) {
    let program = String(command[0].split(separator: "/").last ?? "")
    do throws(CommandFailure) {
      try agent.perform("exec.begin") { writer in
        writer.member("account", account)
        writer.member("program", shown(program))
      }
    } catch {
      switch error.name {
      // A grant that gives tokens and not this: its program could ask for the tokens itself.
      case "notPermitted": return
      case "methodNotFound":
        Output.warning(
          "The agent is older than this program, so its audit log does not record this command. `lanyard stop` ends the agent, "
            + "and the next command starts the new one.")
      default: throw error
      }
    }
  }

  /// The program's name as the audit log takes it.
  private static func shown(_ program: String) -> String {
    let text = String(
      decoding: program.utf8.map { 0x20...0x7E ~= $0 ? $0 : UInt8(ascii: "?") }.prefix(128), as: UTF8.self)
    return text.isEmpty ? "?" : text
  }
}

extension JSONWriter {
  /// Writes the access token of an answer; false if it is none that stands after `Bearer` as it is.
  fileprivate mutating func writeBearer(_ answer: JSONNode) -> Bool {
    guard answer["tokenType"]?.string?.lowercased() ?? "bearer" == "bearer", let token = answer["accessToken"],
      token.textCapacity > 0
    else { return false }
    let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: token.textCapacity, alignment: 8)
    defer {
      explicit_bzero(memory.baseAddress!, memory.count)
      memory.deallocate()
    }
    let text = UnsafeRawBufferPointer(rebasing: memory[..<token.copyText(into: memory)])
    verbatim(text)
    return text.allSatisfy { 0x21...0x7E ~= $0 }
  }
}
