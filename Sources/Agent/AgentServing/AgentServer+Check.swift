internal import Agent
internal import AgentModel
public import AgentPorts
internal import AgentProtocol
internal import AgentStore
internal import AgentUpkeep
internal import JSONRPC

/// `lanyard-agent --check`: the findings as `agent.diagnose` gives them, one line of JSON.
extension AgentServer {
  /// Opens the vault as far as that needs no person, and never makes one; serves nothing. `isOpen` is false if a start
  /// would fail.
  public func check(protection: String) async -> (line: [UInt8], isOpen: Bool) {
    let (findings, isOpen) = await agent.diagnosis.check(protection: protection)
    return (Self.line(findings), isOpen)
  }

  /// The same for a directory without a store.
  public static var nothingToCheck: [UInt8] { line(AgentDiagnosis.withoutStore) }

  /// The same for a store that can't be opened.
  public static func check(of failure: StoreFailure) -> [UInt8] { line(AgentDiagnosis.findings(of: failure)) }

  /// Why a store can't be opened, as the part of a sentence.
  public static func cause(of failure: StoreFailure) -> String { failure.cause }

  private static func line(_ findings: [Finding]) -> [UInt8] {
    var writer = JSONWriter(capacity: 4096)
    AgentDiagnose.Result(findings: findings.map { WireFinding($0) }).write(to: &writer)
    return writer.withBytes { [UInt8]($0) } + [0x0A]
  }
}
