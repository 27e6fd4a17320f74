internal import Glibc

// Helpers for every program that the agent starts.

func withCStrings<Result>(
  _ texts: [String], _ body: (UnsafePointer<UnsafeMutablePointer<CChar>?>) -> Result
) -> Result {
  var pointers: [UnsafeMutablePointer<CChar>?] = texts.map { strdup($0) }
  pointers.append(nil)
  defer { for pointer in pointers { free(pointer) } }
  return body(&pointers)
}

/// Lends spawn attributes with these flags and an empty signal mask: a child must not inherit the signals that the
/// agent blocks for its signalfd.
func withChildAttributes<Result>(_ flags: Int16, _ body: (UnsafePointer<posix_spawnattr_t>) -> Result) -> Result {
  var attributes = posix_spawnattr_t()
  posix_spawnattr_init(&attributes)
  defer { posix_spawnattr_destroy(&attributes) }
  var none = sigset_t()
  sigemptyset(&none)
  posix_spawnattr_setsigmask(&attributes, &none)
  // Ignored signals would stay ignored over exec (execve(2)).
  var ignored = sigset_t()
  sigemptyset(&ignored)
  for signal in [SIGPIPE, SIGXFSZ] { sigaddset(&ignored, signal) }
  posix_spawnattr_setsigdefault(&attributes, &ignored)
  posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK) | Int16(POSIX_SPAWN_SETSIGDEF) | flags)
  return body(&attributes)
}
