internal import AgentModel
internal import AgentPorts
internal import AgentVault
internal import Secrets

/// A PIN: its key is Argon2id of it, peppered by the vault. An attacker with a copy of the store can't try a PIN
/// without the vault's keys, and with them pays for Argon2id at each attempt.
package struct PINMethod: StepUpProver {

  package init() {}
  let method = StepUpMethod.pin

  func enroll(_ given: Secret, pepper: SealingKey) async -> StepUpEnrolment? {
    let salt = SecretBytes(random: PassphraseStretching.saltBytes)
    let parameters = PassphraseParameters(salt: salt.withBytes { [UInt8]($0) })
    return key(of: given, parameters, pepper).map { StepUpEnrolment(kept: parameters.bytes, key: $0) }
  }

  func judge(_ given: Secret, kept: [UInt8], pepper: SealingKey) async -> StepUpProof {
    // A record that this agent did not write, or with a cost outside the bounds, is not judged.
    guard let parameters = PassphraseParameters(bytes: kept), let key = key(of: given, parameters, pepper) else {
      return .unavailable
    }
    return .key(key)
  }

  /// Takes 0.1 s and more; nil if memory is short. The bytes are those that were typed: nothing is made equal.
  private func key(of pin: Secret, _ parameters: PassphraseParameters, _ pepper: SealingKey) -> SealingKey? {
    parameters.stretching.key(from: pepper.keyed("pin", pin), salt: parameters.salt)
  }
}
