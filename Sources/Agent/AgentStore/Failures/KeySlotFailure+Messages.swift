internal import AgentModel

/// The messages of a key slot or a passphrase that does not open the vault.
extension KeySlotFailure {
  var message: String {
    switch self {
    case .damaged: "The key slot is damaged. Unlock the vault by another one, or restore a backup."
    case .costsOutOfBounds:
      "The costs of the passphrase slot's key derivation are outside the allowed range, so the agent refuses the slot."
    case .unknown:
      "A key slot was not made by this vault: another program changed the store. The agent did not use the slot."
    case .changed(let number):
      "Key slot \(number) differs from what the vault recorded. Unlock the vault by it once, or remove it first."
    case .last: "This is the last key slot of the vault. Add another one first; nothing was changed."
    case .tooMany, .noKeySource, .taken:
      "A parameter is not valid: see data.path and data.expected."
    case .anchorNotWritten:
      """
      The rollback anchor can't be written, and an old anchor would refuse the store after a rotation of the root key. \
      Nothing was changed. Make room and make sure that ~/.config/lanyard is yours, with mode 0700; then try again.
      """
    }
  }
}

extension PassphraseFailure {
  /// The least of a pause: without one the next passphrase is judged at once.
  private static let noPause = Milliseconds(1)

  /// What to do after a passphrase that opened nothing, with the pause in whole seconds.
  static func again(after pause: Milliseconds) -> String {
    pause > noPause ? "Try again in \((pause + Milliseconds(999)).wholeSeconds) s." : "Try again."
  }

  var message: String {
    switch self {
    case .wrong(let pause): "This does not open the vault. Nothing was changed. \(Self.again(after: pause))"
    case .notTried(let pause): "Too many wrong passphrases: this one was not tried. \(Self.again(after: pause))"
    case .noSlot:
      "This vault has no passphrase slot, so no passphrase unlocks it. Where there is no vault, `agent.initialize` creates one."
    case .prompt(.cancelled): "The question for the passphrase was closed. Nothing was changed."
    case .prompt(.timedOut): "The passphrase was not typed in time. Nothing was changed."
    case .prompt(.unavailable): PromptFailure.unavailableMessage
    case .badLength: "A passphrase has 1 to 1024 bytes. Nothing was changed."
    case .noMemory: "There was not enough memory to derive a key from the passphrase. Nothing was changed; try again."
    }
  }
}
