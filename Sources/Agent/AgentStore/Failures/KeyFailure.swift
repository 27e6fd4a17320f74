package import AgentModel

/// Why a passphrase opens nothing. Nothing was changed.
package enum PassphraseFailure: Sendable {
  case wrong(retryAfter: Milliseconds)
  /// It came during the pause after wrong ones, so that it was neither judged nor counted.
  case notTried(retryAfter: Milliseconds)
  /// No slot of this vault takes a passphrase.
  case noSlot
  /// The person could not be asked, or gave no answer.
  case prompt(PromptFailure)
  /// Longer or shorter than the contract allows.
  case badLength
  /// Not enough memory to stretch it.
  case noMemory
}

/// Why a question to the person has no answer.
package enum PromptFailure: Hashable, Sendable { case cancelled, timedOut, unavailable }

/// Why a key slot is not usable, or a change of the slots is refused.
package enum KeySlotFailure: Sendable {
  /// The slot does not open by its own key.
  case damaged
  /// The stored costs of a passphrase slot are outside the bounds.
  case costsOutOfBounds
  /// The vault did not make this slot.
  case unknown
  /// The slot's row differs from what the vault knows, so its root key can't be replaced.
  case changed(Int)
  /// Removing it would leave no way into the vault.
  case last
  case tooMany(Int)
  /// The agent was started without a key source of this protection.
  case noKeySource
  /// The protection has a slot already.
  case taken
  /// An anchor does not take the next root key: after the rotation it would refuse the store.
  case anchorNotWritten
}
