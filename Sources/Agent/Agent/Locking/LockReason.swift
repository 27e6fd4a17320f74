
/// Why the vault is locked; the word of the event and of the audit log.
package enum LockReason: String, Sendable {
  /// Somebody asked for it.
  case request
  /// Nobody used it for as long as the person said.
  case idle
  /// The machine is about to sleep.
  case sleep
  /// The person's screen was locked.
  case screen
}
