import CommandSupport
import JSONRPC

/// Findings of the running agent, or of `lanyard-agent --check` if none runs.
enum AgentFindings {
  static func ask(_ agent: inout AgentConnection, online: Bool) throws(CommandFailure) -> [Finding] {
    let version = try agent.call("agent.status") { $0["version"]?.string ?? "?" }
    // It answers; what it looks at may take long.
    agent.patienceMilliseconds = nil
    var findings: [Finding] = []
    if version == Version.text {
      findings.append(Finding(.ok, "agent", "The agent runs, version \(version)."))
    } else {
      findings.append(
        Finding(
          .notice, "agent", "The agent has version \(version), this program \(Version.text).",
          remedies: ["`lanyard stop` ends it; the next command starts this version."]))
    }
    return findings + (try diagnosed(by: &agent, online: online))
  }

  static let silent = Finding(
    .problem, "agent", "The agent does not answer: it was stopped, it hangs, or the machine is too busy.",
    remedies: ["Wait, or end it: `lanyard stop`."])

  /// The findings of `agent.diagnose`. An error of an older agent becomes a finding itself.
  private static func diagnosed(by agent: inout AgentConnection, online: Bool) throws(CommandFailure) -> [Finding] {
    let answer: Result<[Finding], CommandFailure> = diagnosis(by: &agent, online: online)
    switch answer {
    case .success(let findings): return findings
    case .failure(let failure):
      guard failure.status == .other || failure.status == .denied else { throw failure }
      return [Finding(.problem, "agent", failure.message, remedies: failure.hints)]
    }
  }

  private static func diagnosis(by agent: inout AgentConnection, online: Bool) -> Result<[Finding], CommandFailure> {
    do throws(CommandFailure) {
      if online { agent.waitsFor = "the providers" }
      defer { agent.waitsFor = nil }
      // An older agent refuses the parameter, so it is sent only when needed.
      let findings = try agent.call("agent.diagnose") { writer in
        if online { writer.member("askProviders", true) }
      } result: { (result) throws(CommandFailure) in
        result["findings"].map { $0.elements.map { Finding($0) } } ?? []
      }
      return .success(findings)
    } catch {
      return .failure(error)
    }
  }

  /// Findings of the store while no agent runs.
  ///
  /// - Parameter socket: nil if it has no place.
  static func check(socket: String?) -> [Finding] {
    guard let check = AgentCheck.run() else {
      return [
        Finding(
          .problem, "agent", "The program lanyard-agent is neither beside this program nor in PATH.",
          remedies: ["Install it, or add it to PATH."])
      ]
    }
    return read(check.found) ?? [refusal(check, socket: socket)]
  }

  /// That no agent runs, unless a finding of the agent says more.
  static func notRunning(amid findings: [Finding]) -> [Finding] {
    let problems = findings.filter { $0.severity == .problem }
    guard !problems.contains(where: { $0.check == "agent" }) else { return [] }
    let remedies = problems.isEmpty ? ["Nothing to do: the next command that needs an agent starts one."] : []
    return [Finding(.notice, "agent", "No agent runs.", remedies: remedies)]
  }

  /// Why `lanyard-agent --check` examined nothing.
  private static func refusal(_ check: AgentCheck, socket: String?) -> Finding {
    let lines = check.errorOutput.split(separator: "\n").map { line in
      line.hasPrefix(program) ? String(line.dropFirst(program.count)) : String(line)
    }
    let lastLine = lines.last ?? "It ended with \(check.exitCode)."
    switch check.exitCode {
    case 75:
      return Finding(
        .problem, "agent", subject: socket, "No agent answers, and one holds this state directory. \(lastLine)",
        remedies: [AgentExit.hintIfHeld])
    // It was given one option alone.
    case 64 where lastLine.hasPrefix("Unknown option"):
      return Finding(
        .problem, "agent",
        "The program lanyard-agent has another version than this program and can't check the store.",
        remedies: ["Install both again."])
    // What is wrong with its configuration, then what helps.
    case 64 where lines.count > 1:
      return Finding(
        .problem, "agent", "The agent can't start. \(lines.dropLast().joined(separator: " "))", remedies: [lastLine])
    default:
      return Finding(
        .problem, "agent", "The agent can't start. \(lastLine)", remedies: remedies(forExit: check.exitCode))
    }
  }

  private static let program = "lanyard-agent: "

  private static func remedies(forExit code: Int32) -> [String] {
    switch code {
    case 64: ["Set HOME or LANYARD_STATE_DIR to an absolute path."]
    case 73: ["Let it use directories that only you may enter: LANYARD_STATE_DIR and LANYARD_SOCKET choose others."]
    case 74: ["Make its directory writable, and make room on the disk."]
    default: []
    }
  }

  private static func read(_ line: [UInt8]) -> [Finding]? {
    line.withUnsafeBytes { bytes in
      var tape = JSONTape()
      guard !bytes.isEmpty, (try? JSONScanner.scan(bytes, onto: &tape)) != nil else { return nil }
      return tape.withRoot(of: bytes) { root in root["findings"].map { $0.elements.map { Finding($0) } } }
    }
  }
}
