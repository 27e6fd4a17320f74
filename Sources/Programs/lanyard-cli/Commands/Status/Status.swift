import ArgumentParser
import CommandSupport
import JSONRPC

/// `lanyard status`
struct Status: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Show the agent, and which account is used here and why.",
    discussion: "With --watch it follows what happens, until Ctrl-C.")

  @Flag(name: .long, help: "Show it again whenever something changes.")
  var watch = false

  @OptionGroup var common: CommonOptions

  func run() throws {
    if watch { return try StatusWatch(status: self).run() }
    var agent = try common.connect()
    show(try report(over: &agent))
  }

  /// How things stand now. A file that can't be understood or an account that is not there is part of the report.
  func report(over agent: inout AgentConnection) throws(CommandFailure) -> StatusReport {
    var report = StatusReport(agent: try agent.call("agent.status") { AgentInfo($0) })
    let selection = try AccountSelection.choose(argument: nil, option: common.account)
    report.selection = selection
    do throws(CommandFailure) {
      let account = try AccountInfo.named(selection.selector, over: &agent)
      report.account = account
      report.session = try agent.call(
        "session.get", params: { $0.member("account", account.id) }, result: { SessionInfo($0) })
    } catch {
      // The agent went away: there is nothing to report. Anything else it says about the account belongs into it.
      guard error.wire != nil else { throw error }
      report.problem = error
    }
    return report
  }

  func show(_ report: StatusReport) {
    if common.json {
      Output.answer(report.json)
    } else {
      for line in report.lines { Output.answer(line) }
    }
  }
}
