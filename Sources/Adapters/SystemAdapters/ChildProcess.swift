internal import CPlatform
internal import Glibc

// Helpers for every program that the broker starts.

/// The environment of a child: a fixed search path, and these variables of this process.
func childEnvironment(_ passedOn: [String]) -> [String] {
  ["PATH=/usr/local/bin:/usr/bin:/bin"]
    + passedOn.compactMap { name in getenv(name).map { "\(name)=\(String(cString: $0))" } }
}

func withCStrings<Result>(
  _ texts: [String], _ body: (UnsafePointer<UnsafeMutablePointer<CChar>?>) -> Result
) -> Result {
  var pointers: [UnsafeMutablePointer<CChar>?] = texts.map { strdup($0) }
  pointers.append(nil)
  defer { for pointer in pointers { free(pointer) } }
  return body(&pointers)
}

/// Lends spawn attributes with these flags and an empty signal mask, and with every signal at its default:
/// a child must not inherit the signals that the broker ignores.
func withChildAttributes<Result>(_ flags: Int16, _ body: (UnsafePointer<posix_spawnattr_t>) -> Result) -> Result {
  var attributes = posix_spawnattr_t()
  posix_spawnattr_init(&attributes)
  defer { posix_spawnattr_destroy(&attributes) }
  var none = sigset_t()
  sigemptyset(&none)
  posix_spawnattr_setsigmask(&attributes, &none)
  // Ignored signals would stay ignored over exec (execve(2)).
  var all = sigset_t()
  sigfillset(&all)
  posix_spawnattr_setsigdefault(&attributes, &all)
  posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK) | Int16(POSIX_SPAWN_SETSIGDEF) | flags)
  return body(&attributes)
}
