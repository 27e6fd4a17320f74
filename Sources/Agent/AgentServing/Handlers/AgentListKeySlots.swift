internal import Agent
internal import AgentCore
internal import AgentProtocol
internal import AgentStore
internal import AgentUpkeep

enum AgentListKeySlotsHandler: MethodHandler {
  typealias Method = AgentListKeySlots

  static func handle(
    _ params: AgentListKeySlots.Params, _ call: Call
  ) async throws(AgentFailure) -> AgentListKeySlots.Result {
    let slots = try await call.agent.vault.read { vault throws(AgentFailure) in try vault.keySlots.list() }
    return AgentListKeySlots.Result(slots: slots.map(\.wire))
  }
}

extension KeySlot {
  var wire: WireKeySlot {
    WireKeySlot(slot: number, protection: WireProtection(protection), createdAt: createdAt, opened: isOpened)
  }
}
