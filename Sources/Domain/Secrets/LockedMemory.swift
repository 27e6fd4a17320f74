/// Whether guarded memory stays in RAM (mlock(2)), where swap gets no copy of a secret.
///
/// Secrets are kept also if the kernel refuses to lock: an agent that dropped a rotated token would lose the session.
public enum LockedMemory {
  /// True if the kernel has locked all guarded memory since the start.
  public static var isComplete: Bool { SecretPool.shared.isLocked }

  /// Calls `body` once, at the first refusal, also if that was before this call.
  public static func whenIncomplete(_ body: @escaping @Sendable () -> Void) {
    SecretPool.shared.whenUnlocked(body)
  }

  /// Tries whether the kernel locks as much as an agent with a few accounts needs; `isComplete` tells the result.
  public static func probe() {
    SecretPool.shared.release(SecretPool.shared.allocate(probeBytes))
  }

  /// Twice a slab for each size of secret.
  private static let probeBytes = 1 << 20
}
