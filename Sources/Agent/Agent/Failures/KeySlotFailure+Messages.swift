/// The messages of a key slot or a passphrase that does not open the vault.
extension KeySlotFailure {
  var message: String {
    switch self {
    case .damaged: "The key slot is damaged. Open the vault by another, or restore a backup."
    case .costsOutOfBounds:
      "The passphrase slot asks for costs outside the bounds. It is refused, not weakened."
    case .unknown:
      "A key slot is not one that this vault made: the store was changed from outside. The slot opened nothing."
    case .changed(let number):
      "Key slot \(number) is not as this vault knows it. Open the vault by it once, or remove it first."
    case .last: "This is the only way to the vault. Add another one first; nothing was changed."
    case .tooMany, .noKeySource, .taken:
      "A parameter is not as the method wants it: see data.path and data.expected."
    case .anchorNotWritten:
      """
      The anchor outside the store can't be written, and would refuse the store after the change of the root key. \
      Nothing was changed. Make room and make sure that ~/.config/lanyard is yours, with mode 0700; then try again.
      """
    }
  }
}

extension PassphraseFailure {
  var message: String {
    switch self {
    case .wrong: "This does not open the vault. Nothing was changed; try again."
    case .noSlot: "No passphrase opens this vault. `agent.initialize` makes a new one where there is none."
    case .prompt(.cancelled): "The question for the passphrase was closed. Nothing was changed."
    case .prompt(.timedOut): "The passphrase was not typed in time. Nothing was changed."
    case .prompt(.unavailable): PromptFailure.unavailableMessage
    case .badLength: "A passphrase has 1 to 1024 bytes. Nothing was changed."
    case .noMemory: "There was not enough memory to make a key from the passphrase."
    }
  }
}
