import ArgumentParser
import CommandSupport
import JSONRPC

/// `lanyard status`
struct Status: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Show the agent, and the account that is used here.",
    discussion: "Also says why this account is used. With --watch the report follows every change, until Ctrl-C.")

  @Argument(help: "The account: its alias, e-mail address, name or id.", completion: .accounts)
  var account: String?

  @Flag(name: .long, help: "Show the report again after every change, until Ctrl-C.")
  var watch = false

  @OptionGroup var common: CommonOptions

  func run() throws {
    if watch { return try StatusWatch(status: self).run() }
    var agent = try common.connect()
    show(try report(via: &agent))
  }

  /// The state now. An account that does not exist becomes `problem` of the report.
  func report(via agent: inout AgentConnection) throws(CommandFailure) -> StatusReport {
    let selection = try AccountSelection.choose(argument: account, option: common.account, asksTrust: false)
    var (found, session, problem): (AccountInfo?, SessionInfo?, CommandFailure?)
    do throws(CommandFailure) {
      let account = try AccountInfo.named(selection, via: &agent)
      found = account
      session = try agent.call(
        "session.get", params: { $0.member("account", account.id) }, result: { SessionInfo($0) })
    } catch {
      // Without an answer of the agent there is nothing to report. An error that it sent is part of the report.
      guard error.wire != nil else { throw error }
      problem = error
    }
    // Last, so that the count of accounts by their states knows what the session told.
    let info = try agent.call("agent.status") { AgentInfo($0) }
    let network = info.connectivity == "offline" ? try? agent.call("connectivity.get") { NetworkInfo($0) } : nil
    return StatusReport(
      agent: info, network: network, selection: selection, account: found, session: session, problem: problem)
  }

  func show(_ report: StatusReport) {
    if common.json {
      Output.answer(json: report.json)
    } else {
      for line in report.lines { Output.answer(line) }
    }
  }
}
