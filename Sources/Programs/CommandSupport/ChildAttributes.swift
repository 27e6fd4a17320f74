package import Glibc

/// Lends the attributes of a child process, for `posix_spawn`. This process ignores SIGPIPE. A child must not, or a pipeline in it
/// might never end.
///
/// - Parameter mask: the signals that the child blocks; nil: those that this process blocks.
package func withChildAttributes<Result>(
  mask: sigset_t? = nil, _ body: (UnsafePointer<posix_spawnattr_t>) -> Result
) -> Result {
  var attributes = posix_spawnattr_t()
  posix_spawnattr_init(&attributes)
  defer { posix_spawnattr_destroy(&attributes) }
  var ignored = sigset_t()
  sigemptyset(&ignored)
  sigaddset(&ignored, SIGPIPE)
  posix_spawnattr_setsigdefault(&attributes, &ignored)
  if var mask { posix_spawnattr_setsigmask(&attributes, &mask) }
  posix_spawnattr_setflags(
    &attributes, Int16(POSIX_SPAWN_SETSIGDEF | (mask == nil ? 0 : POSIX_SPAWN_SETSIGMASK)))
  return body(&attributes)
}
