internal import AgentProtocol

enum AgentLockHandler: MethodHandler {
  typealias Method = AgentLock

  static func handle(_ params: AgentLock.Params, _ call: Call) async throws(RPCError) -> AgentLock.Result {
    let wasOpen = await call.agent.registry.vaultIsOpen
    await call.agent.registry.leave()
    await call.agent.accounts.releaseAll()
    if wasOpen { call.agent.events.publish(AgentLockedEvent(reason: "request")) }
    return AgentLock.Result(locked: true)
  }
}
