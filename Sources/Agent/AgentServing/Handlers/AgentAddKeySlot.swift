internal import AgentCore
internal import AgentProtocol
internal import Secrets

enum AgentAddKeySlotHandler: MethodHandler {
  typealias Method = AgentAddKeySlot

  static func handle(_ params: AgentAddKeySlot.Params, _ call: Call) async throws(AgentFailure)
    -> AgentAddKeySlot.Result
  {
    let vault = call.agent.vault
    guard params.protection == .passphrase else {
      guard params.passphrase == nil, params.prompt == nil else {
        throw .invalidParameter("/protection", expected: "passphrase, since a passphrase is given")
      }
      _ = try await vault.keySlotList()
      await vault.askForKeys(for: params.protection.rawValue)
      return AgentAddKeySlot.Result(
        slot: try await vault.addKeySlot(KeyProtection(params.protection)), protection: params.protection)
    }
    // Nobody is asked for the passphrase of a vault that is closed.
    _ = try await vault.keySlotList()
    let passphrase: Secret
    switch (params.passphrase, params.prompt) {
    case (let given?, nil): passphrase = given
    case (nil, .some): passphrase = try await call.agent.typedPassphrase(.newPassphrase)
    case (nil, nil): throw .invalidParameter("/passphrase", expected: "a passphrase, or a prompt that asks for it")
    case (.some, .some): throw .invalidParameter("/prompt", expected: "a passphrase or a prompt, not both")
    }
    // Here and not in the registry, which serves others meanwhile.
    let parameters = PassphraseParameters.new()
    let holder = try VaultActor.holder(parameters, passphrase: passphrase)
    return AgentAddKeySlot.Result(
      slot: try await vault.addKeySlot(parameters, holder: holder), protection: .passphrase)
  }
}
