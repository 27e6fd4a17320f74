internal import Agent
internal import AgentProtocol
internal import AgentStore
internal import AgentUpkeep

enum AgentRemoveKeySlotHandler: MethodHandler {
  typealias Method = AgentRemoveKeySlot

  static func handle(
    _ params: AgentRemoveKeySlot.Params, _ call: Call
  ) async throws(AgentFailure) -> AgentRemoveKeySlot.Result {
    try await call.agent.vault.commit { vault throws(AgentFailure) in try vault.keySlots.remove(params.slot) }
    let slots = try await call.agent.vault.read { vault throws(AgentFailure) in try vault.keySlots.list() }
    return AgentRemoveKeySlot.Result(slots: slots.map(\.wire))
  }
}
