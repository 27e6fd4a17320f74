internal import Agent
internal import AgentProtocol
internal import AgentRecords
internal import AgentStore
internal import AgentUpkeep

enum AgentUnlockHandler: MethodHandler {
  typealias Method = AgentUnlock

  static func handle(_ params: AgentUnlock.Params, _ call: Call) async throws(AgentFailure) -> AgentUnlock.Result {
    let agent = call.agent
    if await agent.vault.isOpen { return AgentUnlock.Result(locked: false) }
    var passphrase = params.passphrase
    if passphrase == nil, params.prompt != nil { passphrase = try await agent.typedPassphrase() }
    // A key source may have to ask the person for its key, which takes as long as a person does.
    if passphrase == nil { await agent.vault.unlockKeys() }
    let given = passphrase
    try await agent.unlock(.agentUnlock) { (vault) async throws(AgentFailure) in
      if let given { return try await vault.unlock(passphrase: given) }
      guard try await vault.openAgain() else {
        throw .invalidParameter("/passphrase", expected: "the passphrase of the vault")
      }
    }
    return AgentUnlock.Result(locked: false)
  }
}
