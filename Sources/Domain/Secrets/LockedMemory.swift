/// Whether guarded memory stays in RAM (mlock(2)), where swap gets no copy of a secret.
///
/// Keys, tokens and all other secrets of up to 16 KiB are. Longer ones, which are bodies of requests and answers, are
/// locked as far as that leaves them half of what the process may lock.
///
/// Secrets are kept also if the kernel refuses to lock: an agent that dropped a rotated token would lose the session.
public enum LockedMemory {
  /// True if the kernel has refused no lock since the start.
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
