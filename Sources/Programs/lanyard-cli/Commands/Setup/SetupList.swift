import CommandSupport
import JSONRPC

/// `lanyard setup` without a tool: what is configured, and whether it works.
struct SetupList {
  let common: CommonOptions

  private struct Row {
    var tool: String
    var name: String?
    var project: String?
    var url: String
    var account: String
    var problem: String?
  }

  func run() throws(CommandFailure) {
    let entries = try SetupRecord().entries
    if entries.isEmpty, !common.json {
      return Output.note("No tool is set up. For one: `lanyard setup git https://github.com/* --account ACCOUNT`.")
    }
    var rows: [Row] = []
    for entry in entries { rows.append(try row(for: entry)) }
    if common.json { return answer(rows) }
    var table = Table(["TOOL", "URL", "ACCOUNT", "STATE"], whole: ["URL", "ACCOUNT"], folded: ["TOOL", "STATE"])
    for row in rows {
      table.add([
        .init(row.tool + (row.project.map { " in \($0)" } ?? "")), .init(row.url), .init(row.account),
        .init(row.problem ?? "works"),
      ])
    }
    table.print()
  }

  private func row(for entry: SetupRecord.Entry) throws(CommandFailure) -> Row {
    var row = Row(
      tool: entry.tool, name: entry.name, project: entry.project, url: entry.url ?? "-", account: entry.account ?? "-")
    guard let tool = SetupTool(rawValue: entry.tool) else { return row }
    do throws(CommandFailure) {
      for change in try tool.changes(for: entry.target) where entry.changes.contains(change.identity) {
        if try change.state() != .present {
          row.problem = "\(change.place) no longer has it"
          return row
        }
      }
      row.account = try account(for: entry) ?? row.account
    } catch {
      // An agent that can't be reached says nothing of the tools.
      if error.status == .noAgent { throw error }
      row.problem = error.message
    }
    return row
  }

  /// The account that gives the tool a token now; nil where the tool names each server itself.
  private func account(for entry: SetupRecord.Entry) throws(CommandFailure) -> String? {
    let startsServers = SetupTool(rawValue: entry.tool)?.startsServers == true
    // `lanyard mcp` chooses the account when it runs.
    if startsServers, entry.account == nil { return nil }
    var agent = try common.connect()
    let found: ResourceCredential
    if let name = entry.account, entry.url == nil || startsServers {
      found = ResourceCredential(account: try AccountInfo.named(name, via: &agent).id)
    } else if let base = entry.target.base {
      let address = try ResourceAddress(typed: base)
      guard let resource = try ResourceCredential.find(address, via: &agent) else {
        throw ResourceCredential.noneAnswers(for: address, named: nil, via: &agent)
      }
      found = resource
    } else {
      return nil
    }
    try found.token(via: &agent) { _ in }
    return try AccountInfo.named(found.account, via: &agent).label
  }

  private func answer(_ rows: [Row]) {
    var writer = JSONWriter()
    writer.beginObject()
    writer.key("tools")
    writer.beginArray()
    for row in rows {
      writer.beginObject()
      writer.member("tool", row.tool)
      writer.member("name", row.name)
      writer.member("project", row.project)
      writer.member("url", row.url == "-" ? nil : row.url)
      writer.member("account", row.account == "-" ? nil : row.account)
      writer.member("works", row.problem == nil)
      writer.member("problem", row.problem)
      writer.endObject()
    }
    writer.endArray()
    writer.endObject()
    writer.withBytes { Output.answer(json: $0) }
  }
}
