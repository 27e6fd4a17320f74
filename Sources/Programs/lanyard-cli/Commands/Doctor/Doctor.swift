import ArgumentParser
import CommandSupport
import JSONRPC

/// `lanyard doctor`
struct Doctor: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "doctor",
    abstract: "Look for what is wrong, and say what can be done.",
    discussion: """
      Looks at the agent, its directories and files, what protects the store, every account's records, the database, the \
      audit log, the disk, the clock, and what still waits to be revoked. It changes nothing, starts no agent and, but for --online, \
      asks no provider. Where no agent runs, `lanyard-agent --check` tells what a start would find.

      `ok` was looked at and is sound, `notice` is worth knowing, `problem` wants something done.

      EXIT CODES:
        1: there is a problem.

      EXAMPLES:
        lanyard doctor
        lanyard doctor --json | jq '.findings[] | select(.severity == "problem")'
      """)

  @Flag(name: .long, help: "Ask each provider whether it answers, too.")
  var online = false

  @OptionGroup var common: CommonOptions

  func run() throws {
    var findings: [Finding] = []
    let socket = try? AgentPaths.socket()
    var agentRuns = true
    do throws(CommandFailure) {
      findings += try askAgent()
    } catch {
      agentRuns = error.name != "noAgent"
      findings +=
        agentRuns
        ? [Finding(.problem, "agent", error.message, remedies: error.hints)] : AgentFindings.check(socket: socket ?? "")
    }
    var files = FileFindings()
    files.lookAtState(AgentPaths.stateDirectory, agentRuns: agentRuns)
    if let socket { files.lookAtSocket(socket, agentRuns: agentRuns) }
    files.lookAtAnchors(AgentPaths.anchorDirectory)
    findings += files.list
    show(findings)
    try OtherAnswer.end(with: findings.contains { $0.severity == .problem } ? .other : .success)
  }

  private func askAgent() throws(CommandFailure) -> [Finding] {
    var agent = try Agent.connect(mayStart: false)
    return try AgentFindings.ask(&agent, online: online)
  }

  private func show(_ findings: [Finding]) {
    let (problems, notices) = (count(.problem, findings), count(.notice, findings))
    guard !common.json else {
      var writer = JSONWriter(capacity: 4096)
      writer.beginObject()
      writer.member("ok", problems == 0)
      writer.key("findings")
      writer.beginArray()
      for finding in findings { finding.write(to: &writer) }
      writer.endArray()
      writer.endObject()
      return writer.withBytes { Output.answer(json: $0) }
    }
    for finding in findings { finding.show() }
    let noticed = notices == 0 ? "" : ", \(Counted.words(Int64(notices), "notice"))"
    Output.answer("")
    Output.answer(
      problems == 0
        ? Style.good("All is well") + "\(noticed)."
        : Style.bad(Counted.words(Int64(problems), "problem")) + "\(noticed).")
  }

  private func count(_ severity: Finding.Severity, _ findings: [Finding]) -> Int {
    findings.count { $0.severity == severity }
  }
}
