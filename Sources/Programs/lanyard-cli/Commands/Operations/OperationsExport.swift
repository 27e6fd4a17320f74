import AgentModel
import ArgumentParser
import CommandSupport
import Glibc
import JSONRPC

/// `lanyard operations export`
struct OperationsExport: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "export", abstract: "Print the payload of an operation, to deliver it in another way.",
    discussion: """
      Prints what the program kept with the operation; without that, the body of its request. With --output, exactly \
      these bytes and nothing else. With --json, both as the agent keeps them.
      """)

  @Argument(help: "The operation, as `lanyard operations` shows it.")
  var operation: String

  @Option(
    name: [.customShort("o"), .long],
    help: ArgumentHelp("A new file for the bytes, or `-` for stdout.", valueName: "file"))
  var output: String?

  @OptionGroup var common: CommonOptions

  func validate() throws {
    if output != nil, common.json { throw ValidationError("Give either --output or --json.") }
  }

  func run() throws {
    let selection = try AccountSelection.choose(argument: nil, option: common.account)
    var agent = try common.connect()
    let account = try selection.located(via: &agent)
    let isThere = try agent.call("operation.get", params: OperationsShow.params(account, operation)) {
      (result) throws(CommandFailure) in
      let (payload, request) = (result["payload"], result["request"])
      if common.json {
        let members = [("payload", payload), ("request", request)].compactMap { name, node in
          node.map { "\"\(name)\":" + String(decoding: $0.raw, as: UTF8.self) }
        }
        Output.answer(json: "{" + members.joined(separator: ",") + "}")
        return true
      }
      if let output {
        guard let bytes = try Self.bytes(payload, request) else { return false }
        try Self.write(bytes, to: output)
        return true
      }
      if let payload {
        Output.answer(LaidOutJSON.text(payload))
        return true
      }
      if let body = request?["body"]?.string {
        Output.answer(body)
        return true
      }
      guard let bytes = try Self.bytes(nil, request) else { return false }
      guard isatty(STDOUT_FILENO) == 0 else {
        throw .usage("The body is not text: `--output FILE` writes it to a file.")
      }
      try Self.write(bytes, to: "-")
      return true
    }
    if !isThere { Output.note("The operation has neither a payload nor a body.") }
  }

  /// What is exported: JSON as the program wrote it, or the body as the server would have got it.
  private static func bytes(_ payload: JSONNode?, _ request: JSONNode?) throws(CommandFailure) -> [UInt8]? {
    if let payload { return Array(payload.raw) }
    if let text = request?["body"]?.string { return Array(text.utf8) }
    guard let text = request?["bodyBase64"]?.string else { return nil }
    guard let bytes = Base64.decode(text) else { throw .notUnderstood }
    return bytes
  }

  private static func write(_ bytes: [UInt8], to path: String) throws(CommandFailure) {
    guard path != "-" else { return bytes.withUnsafeBytes { Output.answer(bytes: $0) } }
    // What programs queue is the person's: others on this machine may not read it.
    let file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard file >= 0 else { throw .usage("\(path) can't be created: \(SystemError.message(errno)).") }
    defer { close(file) }
    guard bytes.withUnsafeBytes({ Output.write($0, to: file) }), fsync(file) == 0 else {
      let failure = failure(path)
      unlink(path)
      throw failure
    }
  }

  private static func failure(_ path: String) -> CommandFailure {
    CommandFailure(.other, name: "output", "\(path) could not be written: \(SystemError.message(errno)).")
  }
}
