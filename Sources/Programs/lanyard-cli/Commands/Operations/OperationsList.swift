import ArgumentParser
import CommandSupport
import JSONRPC

/// `lanyard operations [list]`
struct OperationsList: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "list", abstract: "List the operations of an account, oldest first.")

  @Option(name: .long, help: "Only those with this status.")
  var status: OperationStatusName?

  @OptionGroup var common: CommonOptions

  func run() throws {
    let selection = try AccountSelection.choose(argument: nil, option: common.account)
    var agent = try common.connect()
    let account = try selection.located(via: &agent)
    let owner = common.json ? nil : OperationOwner(of: account, via: &agent)
    var pages: [String] = []
    var last: String?
    var isEmpty = true
    repeat {
      let after = last
      last = try agent.call(
        "operation.list",
        params: { writer in
          writer.member("account", account)
          writer.member("status", status?.rawValue)
          writer.member("after", after)
        },
        result: { result -> String? in
          let operations = result["operations"].map { Array($0.elements) } ?? []
          isEmpty = isEmpty && operations.isEmpty
          for operation in operations {
            if common.json {
              pages.append(String(decoding: operation.raw, as: UTF8.self))
            }
            if let owner { OperationInfo(operation, of: owner).show() }
          }
          // A list that says `more` without an operation would never end.
          return result["more"]?.bool == true ? operations.last?["operation"]?.string : nil
        })
    } while last != nil
    if common.json { return Output.answer(json: #"{"operations":["# + pages.joined(separator: ",") + "]}") }
    if isEmpty { Output.note("No operation is queued.") }
  }
}
