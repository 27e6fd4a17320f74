internal import AgentProtocol

enum AgentRemoveKeySlotHandler: MethodHandler {
  typealias Method = AgentRemoveKeySlot

  static func handle(
    _ params: AgentRemoveKeySlot.Params, _ call: Call
  ) async throws(AgentFailure) -> AgentRemoveKeySlot.Result {
    try await call.agent.vault.removeKeySlot(params.slot)
    return AgentRemoveKeySlot.Result(slots: try await call.agent.vault.keySlotList().map(\.wire))
  }
}
