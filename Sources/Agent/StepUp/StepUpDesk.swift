internal import AgentCore
internal import AgentModel
internal import AgentPorts
internal import AgentProtocol
internal import Secrets

/// Judges PINs, one after another: each costs 64 MiB and some tenths of a second, and two guesses at once would be
/// judged by one count. The registry is free meanwhile, and with it everybody who only wants a token.
actor StepUpDesk {
  private let registry: Registry
  private var isBusy = false
  private var waiting: [CheckedContinuation<Void, Never>] = []

  init(registry: Registry) { self.registry = registry }

  /// Counted first, then judged. Until when the step-up counts, on the wall clock.
  func verify(_ pin: Secret, of id: AccountID, for duration: Milliseconds?) async throws(RPCError) -> Timestamp {
    await enter()
    defer { leave() }
    let attempt = try await registry.beginTry(id)
    guard let key = attempt.place.key(of: pin, attempt.lock.parameters) else { throw .noMemoryForPIN }
    guard attempt.place.isRight(key, for: attempt.lock) else { throw try await registry.wasWrong(attempt) }
    return try await registry.wasRight(attempt, key: key, for: duration)
  }

  func enroll(_ pin: Secret, for id: AccountID) async throws(RPCError) -> Registry.StepUpStanding {
    await enter()
    defer { leave() }
    let place = try await registry.placeForNewPIN(id)
    let salt = SecretBytes(random: PassphraseStretching.saltBytes)
    let parameters = PassphraseParameters(salt: salt.withBytes { [UInt8]($0) })
    guard let key = place.key(of: pin, parameters) else { throw .noMemoryForPIN }
    return try await registry.enroll(id, by: key, parameters, at: place)
  }

  private func enter() async {
    guard isBusy else {
      isBusy = true
      return
    }
    await withCheckedContinuation { waiting.append($0) }
  }

  private func leave() {
    if waiting.isEmpty { isBusy = false } else { waiting.removeFirst().resume() }
  }
}

extension RPCError {
  fileprivate static let noMemoryForPIN = RPCError(
    .storeUnavailable, "There was not enough memory to make a key from the PIN. Try again.")
}
