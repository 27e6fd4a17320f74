internal import CPlatform
internal import Glibc

/// Hardens a process before it holds its first token.
public enum ProcessHardening {
  /// The kernel refused: this process must not hold tokens.
  public struct Failure: Error, Sendable, Equatable { public let errno: Int32 }

  /// Forbids core dumps, tracing and new privileges, creates files for this user alone, and turns SIGPIPE into an
  /// error.
  public static func apply() throws(Failure) {
    umask(0o077)
    // The Swift runtime may print registers and memory when a process crashes; memory here holds tokens.
    for crash in [SIGSEGV, SIGBUS, SIGILL, SIGTRAP, SIGFPE, SIGABRT] { signal(crash, SIG_DFL) }
    // Over a limit on the size of files (setrlimit(2)), a write then fails like one on a full disk.
    signal(SIGXFSZ, SIG_IGN)
    for result in [lanyard_deny_dumps(), lanyard_deny_new_privileges(), lanyard_ignore_sigpipe()] where result < 0 {
      throw Failure(errno: -result)
    }
  }

  /// Raises the limit of locked memory as far as an unprivileged process may.
  public static func raiseMemoryLockLimit() { lanyard_raise_memory_lock_limit() }

  /// Whether this process may lock so many bytes.
  public static func mayLockMemory(_ count: Int) -> Bool { lanyard_may_lock_memory(count) }

  /// Raises the limit of open descriptors to `count`, as far as an unprivileged process may. Returns the limit.
  public static func raiseDescriptorLimit(to count: Int) -> Int {
    Int(clamping: lanyard_raise_descriptor_limit(UInt64(count)))
  }
}
