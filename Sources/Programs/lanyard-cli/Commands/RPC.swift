import ArgumentParser
import CommandSupport
import JSONRPC

/// `lanyard rpc`
struct RPC: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Call a method of the agent's protocol.",
    discussion: """
      Prints the result to stdout or the error to stderr, as JSON on one line. `lanyard rpc rpc.discover` lists all \
      methods. Pass secrets through stdin (`-`): other programs can read arguments.

      EXAMPLES:
        lanyard rpc account.list
        lanyard rpc session.get '{"account":"@active"}'
        lanyard rpc agent.unlock - < request.json
      """)

  @Argument(help: "The method.", completion: .methods)
  var method: String

  @Argument(help: "Its parameters as a JSON object; - reads stdin.")
  var json: String?

  @OptionGroup var common: CommonOptions

  func run() throws {
    do throws(CommandFailure) {
      try call()
    } catch {
      var failure = error
      failure.isRaw = failure.wire != nil
      throw failure
    }
  }

  private func call() throws(CommandFailure) {
    var parameters = json == "-" ? try SecretInput.contents(of: "-") : SecretInput(copying: json ?? "{}")
    // A line break would end the request. A bare one is white space: inside strings it is escaped.
    parameters.withMutableBytes { bytes in
      for index in bytes.indices where bytes[index] == 0x0A || bytes[index] == 0x0D { bytes[index] = 0x20 }
    }
    var tape = JSONTape()
    try parameters.withBytes { (bytes) throws(CommandFailure) in
      guard (try? JSONScanner.scan(bytes, onto: &tape, duplicateKeys: .allowed)) != nil else {
        throw .usage("The parameters are not JSON. Nothing was sent.")
      }
      try tape.withRoot(of: bytes) { (node) throws(CommandFailure) in try call(with: node) }
    }
  }

  private func call(with parameters: JSONNode) throws(CommandFailure) {
    guard parameters.kind == .object || parameters.kind == .array else {
      throw .usage("The parameters must be a JSON object. Nothing was sent.")
    }
    let account = parameters["account"] == nil && parameters.kind == .object ? common.account : nil
    var agent = try common.connect()
    let id = try agent.request(method) { writer in
      guard json != nil || account != nil else { return }
      writer.key("params")
      guard let account else { return writer.raw(parameters.raw) }
      writer.beginObject()
      writer.member("account", account)
      for (key, value) in parameters.members {
        writer.key(key.string ?? "")
        writer.raw(value.raw)
      }
      writer.endObject()
    }
    try agent.result(of: id) { Output.answer(json: $0.raw) }
  }
}
