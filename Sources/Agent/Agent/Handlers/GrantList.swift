internal import AgentProtocol

/// Those that stand; a limited caller sees what its own grant made.
enum GrantListHandler: MethodHandler {
  typealias Method = GrantList

  static func handle(_ params: GrantList.Params, _ call: Call) async throws(AgentFailure) -> GrantList.Result {
    GrantList.Result(grants: try await call.agent.vault.grants(for: call).map { WireGrant($0) })
  }
}
