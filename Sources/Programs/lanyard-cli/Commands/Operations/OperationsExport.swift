import ArgumentParser
import CommandSupport
import JSONRPC

/// `lanyard operations export`
struct OperationsExport: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "export", abstract: "Print the payload of an operation, to deliver it in another way.",
    discussion: """
      Prints what the program kept with the operation; without that, the body of its request. With --json, both.
      """)

  @Argument(help: "The operation, as `lanyard operations` shows it.")
  var operation: String

  @OptionGroup var common: CommonOptions

  func run() throws {
    let selection = try AccountSelection.choose(argument: nil, option: common.account)
    var agent = try common.connect()
    let isThere = try agent.call("operation.get", params: OperationsShow.params(selection, operation)) { result in
      let (payload, request) = (result["payload"], result["request"])
      if common.json {
        let members = [("payload", payload), ("request", request)].compactMap { name, node in
          node.map { "\"\(name)\":" + String(decoding: $0.raw, as: UTF8.self) }
        }
        Output.answer(json: "{" + members.joined(separator: ",") + "}")
        return true
      }
      if let payload {
        Output.answer(LaidOutJSON.text(payload))
        return true
      }
      guard let body = request?["body"]?.string ?? request?["bodyBase64"]?.string else { return false }
      Output.answer(body)
      return true
    }
    if !isThere { Output.note("The operation has neither a payload nor a body.") }
  }
}
