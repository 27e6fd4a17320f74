import ArgumentParser
import CommandSupport
import JSONRPC

/// `lanyard policy list`
struct PolicyList: ParsableCommand {
  static let configuration = CommandConfiguration(commandName: "list", abstract: "List the policies.")

  @OptionGroup var tables: TableOptions

  @OptionGroup var common: CommonOptions

  func run() throws {
    var agent = try common.connect()
    try agent.call("policy.list") { result in
      if common.json { return Output.answer(json: result.raw) }
      let isManaged = result["policies"]?.elements.contains { $0["source"] != nil } == true
      var table = Table(["POLICY", "VERSION"] + (isManaged ? ["SET BY"] : []), whole: ["POLICY", "VERSION"])
      var count = 0
      for policy in result["policies"].map({ Array($0.elements) }) ?? [] {
        count += 1
        let cells = [policy["name"]?.string ?? "", policy["version"]?.text ?? ""]
        table.add((cells + (isManaged ? [policy["source"]?.string ?? "you"] : [])).map { .init($0) })
      }
      if count == 0 {
        Output.note("There is no policy, so nothing is allowed. `lanyard policy set FILE` sets one.")
      } else {
        table.print(tables)
      }
    }
  }
}

extension CompletionKind {
  /// Names of policies, if an agent runs.
  static var policies: CompletionKind { .custom { _, _, _ in (try? PolicyName.all(mayStart: false)) ?? [] } }

  /// Capabilities of all policies.
  static var capabilities: CompletionKind {
    .custom { _, _, _ in
      words { agent throws(CommandFailure) in
        var found: [String] = []
        for name in try PolicyName.all(via: &agent) {
          found += try agent.call("policy.get", params: { $0.member("name", name) }) { result in
            (result["policy"] ?? result)["capabilities"]?.members.compactMap { $0.key.string } ?? []
          }
        }
        return found
      }
    }
  }
}

/// Asks for the names of the policies.
enum PolicyName {
  static func all(mayStart: Bool) throws(CommandFailure) -> [String] {
    var agent = try Agent.connect(mayStart: mayStart)
    return try all(via: &agent)
  }

  static func all(via agent: inout AgentConnection) throws(CommandFailure) -> [String] {
    try agent.call("policy.list") { result in
      result["policies"].map { $0.elements.compactMap { $0["name"]?.string } } ?? []
    }
  }
}
