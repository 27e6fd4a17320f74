internal import Agent
internal import AgentProtocol
internal import AgentRecords
internal import AgentStore
internal import AgentUpkeep

enum AgentInitializeHandler: MethodHandler {
  typealias Method = AgentInitialize

  static func handle(_ params: AgentInitialize.Params, _ call: Call) async throws(AgentFailure)
    -> AgentInitialize.Result
  {
    switch params.protection {
    case .passphrase:
      guard let passphrase = params.passphrase else {
        throw .invalidParameter("/passphrase", expected: "a passphrase, since it protects the vault")
      }
      try await call.agent.unlock(.agentInitialize) { (vault) async throws(AgentFailure) in
        try await vault.initialize(passphrase: passphrase)
      }
    case .keyFile, .secretService, .systemdCredential:
      let protection = params.protection.rawValue
      if try await !call.agent.vault.status().isInitialized {
        await call.agent.vault.unlockKeys(for: protection)
      }
      try await call.agent.unlock(.agentInitialize) { (vault) async throws(AgentFailure) in
        // Once, under any protection: `agent.unlock` opens a vault that exists.
        guard try await !vault.status().isInitialized else {
          throw .invalidParameter("", expected: "a vault that is not made yet")
        }
        guard try await vault.open(protection: protection) == .open else {
          throw .invalidParameter("/protection", expected: "the protection that this agent was started with")
        }
      }
    }
    return AgentInitialize.Result(locked: false, protection: params.protection)
  }
}
