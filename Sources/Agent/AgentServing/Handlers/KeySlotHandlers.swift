internal import Agent
internal import AgentCore
internal import AgentProtocol
internal import AgentStore
internal import AgentUpkeep
internal import AgentVault
internal import AgentWire
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
      try await vault.requireOpen()
      await vault.unlockKeys(for: params.protection.rawValue)
      let protection = KeyProtection(params.protection)
      let slot = try await vault.commit { vault throws(AgentFailure) in try vault.keySlots.add(protection) }
      return AgentAddKeySlot.Result(slot: slot, protection: params.protection)
    }
    // Require an open vault before the person is asked for a passphrase.
    try await vault.requireOpen()
    let passphrase: Secret
    switch (params.passphrase, params.prompt) {
    case (let given?, nil): passphrase = given
    case (nil, .some): passphrase = try await call.agent.typedPassphrase(.newPassphrase)
    case (nil, nil): throw .invalidParameter("/passphrase", expected: "a passphrase, or a prompt that asks for it")
    case (.some, .some): throw .invalidParameter("/prompt", expected: "a passphrase or a prompt, not both")
    }
    // Here and not in `VaultActor`, which serves others meanwhile.
    let parameters = PassphraseParameters.new()
    let holder = try parameters.holder(from: passphrase)
    let slot = try await vault.commit { vault throws(AgentFailure) in try vault.keySlots.add(parameters, holder: holder)
    }
    return AgentAddKeySlot.Result(slot: slot, protection: .passphrase)
  }
}

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

enum AgentRotateRootKeyHandler: MethodHandler {
  typealias Method = AgentRotateRootKey

  static func handle(
    _ params: AgentRotateRootKey.Params, _ call: Call
  ) async throws(AgentFailure) -> AgentRotateRootKey.Result {
    AgentRotateRootKey.Result(keyEpoch: Int(try await call.agent.rotateRootKey()))
  }
}
