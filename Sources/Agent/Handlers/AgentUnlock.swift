internal import AgentProtocol

enum AgentUnlockHandler: MethodHandler {
  typealias Method = AgentUnlock

  static func handle(_ params: AgentUnlock.Params, _ call: Call) async throws(RPCError) -> AgentUnlock.Result {
    let registry = call.agent.registry
    if await registry.vaultIsOpen { return AgentUnlock.Result(locked: false) }
    if let passphrase = params.passphrase {
      try await registry.unlock(passphrase: passphrase)
    } else if params.prompt != nil {
      try await registry.unlock(passphrase: try await call.agent.typedPassphrase())
    } else {
      guard try await registry.openAgain() else {
        throw .invalidParams("/passphrase", expected: "the passphrase of the vault")
      }
    }
    try await registry.enter(.agentUnlock)
    let agent = call.agent
    agent.resumeWork()
    agent.events.publish(AgentUnlockedEvent())
    return AgentUnlock.Result(locked: false)
  }
}
