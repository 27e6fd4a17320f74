internal import Agent
internal import AgentCore
internal import AgentDecisions
internal import AgentProtocol
internal import AgentStore
internal import JSONRPC

enum PolicySetHandler: MethodHandler {
  typealias Method = PolicySet

  static func handle(_ params: PolicySet.Params, _ call: Call) async throws(AgentFailure) -> PolicySet.Result {
    await call.agent.lookAgain()
    let document = try PolicyDocument(judging: params.policy, as: params.name)
    let previous = try await call.agent.vault.commit { vault throws(AgentFailure) in
      try vault.policies.set(document, as: params.policy)
    }
    call.agent.events.publish(.policyChanged(name: document.name, version: document.version))
    return PolicySet.Result(
      name: document.name, version: Int(document.version), previousVersion: previous.map { Int($0) })
  }
}

extension PolicyDocument {
  /// Reads a client's document; `policyInvalid` lists all its problems.
  init(judging document: RawJSON, as name: String?) throws(AgentFailure) {
    do throws(PolicyProblems) {
      self = try PolicyDocument(parsing: document.withBytes { [UInt8]($0) }, expectedName: name)
    } catch {
      throw .policyInvalid(error)
    }
  }
}
