/// Whether guarded memory stays in RAM (mlock(2)), where swap gets no copy of a secret.
///
/// Secrets of more than 16 KiB take at most half of what the process may lock, so that they push out no key and no token.
/// Only bodies of servers' answers may be kept without a lock unsaid.
///
/// Secrets are kept also if the kernel refuses to lock: an agent that dropped a rotated token would lose the session.
public enum LockedMemory {
  /// True if all secrets but bodies of answers were locked since the start.
  public static var isComplete: Bool { SecretPool.shared.isLocked }

  /// Calls `body` once, at the first refusal, also if that was before this call.
  public static func whenIncomplete(_ body: @escaping @Sendable () -> Void) {
    SecretPool.shared.whenUnlocked(body)
  }

  /// How much an agent with a few accounts locks: twice a slab for each size of secret.
  public static let usualBytes = 1 << 20

  /// Notes before the first secret that the kernel refuses to lock `usualBytes`; `isComplete` tells it.
  public static func noteRefusal() { SecretPool.shared.noteRefusedLock() }
}
