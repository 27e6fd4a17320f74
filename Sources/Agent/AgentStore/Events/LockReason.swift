/// Why the vault is locked; the word of the event and of the audit log.
package enum LockReason: String, Sendable {
  /// A client called `agent.lock`.
  case request
  /// No request used the vault for the time that the person configured.
  case idle
  /// The machine is about to sleep.
  case sleep
  /// The person's screen was locked.
  case screen
}
