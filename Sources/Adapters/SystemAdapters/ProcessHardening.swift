internal import CPlatform
internal import Glibc

/// What a process that holds tokens does before it holds one.
public enum ProcessHardening {
  /// The kernel refused: not a process to hold tokens in.
  public struct Failure: Error, Sendable, Equatable { public let errno: Int32 }

  /// No dumps and no tracing, files for this user alone, a closed peer is an error and not the end.
  public static func apply() throws(Failure) {
    umask(0o077)
    // The Swift runtime may print registers and memory when a process crashes; memory here holds tokens.
    for crash in [SIGSEGV, SIGBUS, SIGILL, SIGTRAP, SIGFPE, SIGABRT] { signal(crash, SIG_DFL) }
    // A limit on the size of files (setrlimit(2)) is a disk that is full, and told as one.
    signal(SIGXFSZ, SIG_IGN)
    for result in [lanyard_deny_dumps(), lanyard_ignore_sigpipe()] where result < 0 {
      throw Failure(errno: -result)
    }
  }
}
