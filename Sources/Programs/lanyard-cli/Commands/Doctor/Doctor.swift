import ArgumentParser
import CommandSupport
import JSONRPC

/// `lanyard doctor`
struct Doctor: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "doctor",
    abstract: "Check the agent, its files and the accounts, and suggest remedies.",
    discussion: """
      Checks the agent, the libraries that it opens, its directories and files, the protection of the store, the \
      records of every account, the database, the audit log and its export, the disk, the clock, and revocations that \
      wait. It changes nothing and starts no agent. It asks providers only with --online. If no agent runs, \
      `lanyard-agent --check` examines the store.

      ok: no fault found. notice: worth knowing. problem: needs a remedy.

      EXIT CODES:
        1  there is a problem

      EXAMPLES:
        lanyard doctor
        lanyard doctor --json | jq '.findings[] | select(.severity == "problem")'
      """)

  @Flag(name: .long, help: "Also ask each provider whether it answers.")
  var online = false

  @OptionGroup var common: CommonOptions

  /// As long as a command waits for a new agent.
  private static let patienceMilliseconds: Int32 = 10_000

  func run() throws {
    var findings: [Finding] = []
    var socket: String?
    do throws(CommandFailure) {
      socket = try AgentPaths.socket()
    } catch {
      findings.append(Finding(.problem, "socketDirectory", error.message, remedies: error.hints))
    }
    var (agentRuns, destinations) = (true, [String]())
    do throws(CommandFailure) {
      var agent = try Agent.connect(mayStart: false, patienceMilliseconds: Self.patienceMilliseconds)
      findings += try AgentFindings.ask(&agent, online: online)
      destinations = try ExportFindings.configured(&agent)
    } catch {
      agentRuns = error.name != "noAgent"
      if error.name == "agentSilent" {
        findings.append(AgentFindings.silent)
      } else if agentRuns {
        findings.append(Finding(.problem, "agent", error.message, remedies: error.hints))
      } else {
        findings += AgentFindings.check(socket: socket)
      }
    }
    findings += LibraryFindings.look()
    var files = FileFindings()
    files.lookAtState(agentRuns: agentRuns)
    if let socket { files.lookAtSocket(socket, agentRuns: agentRuns) }
    files.lookAtAnchors(AgentPaths.anchorDirectory)
    findings += files.list
    if !agentRuns { findings = AgentFindings.notRunning(amid: findings) + findings }
    findings += ExportFindings.look(at: AgentPaths.stateDirectory, configured: destinations)
    try Finding.answer(findings, json: common.json)
  }
}
