internal import AgentCore
internal import AgentProtocol

enum AgentListKeySlotsHandler: MethodHandler {
  typealias Method = AgentListKeySlots

  static func handle(
    _ params: AgentListKeySlots.Params, _ call: Call
  ) async throws(AgentFailure) -> AgentListKeySlots.Result {
    AgentListKeySlots.Result(slots: try await call.agent.vault.keySlotList().map(\.wire))
  }
}

extension VaultActor.KeySlot {
  var wire: WireKeySlot {
    WireKeySlot(slot: number, protection: WireProtection(protection), createdAt: createdAt, opened: isOpened)
  }
}
