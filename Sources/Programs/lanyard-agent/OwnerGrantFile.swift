internal import Glibc
internal import Secrets

/// With `--strict-grants`, the grant for the person's own programs: it covers everything, in a file beside
/// the store. Each start makes a new one. A sandboxed program that sees only the socket can't read it.
struct OwnerGrantFile {
  let path: String

  init(stateDirectory: String) { path = stateDirectory + "/owner-grant" }

  /// Writes the file atomically, readable by this user only; false with `errno` if that fails. Does not sync: the next
  /// start makes another grant.
  func write(_ secret: Secret) -> Bool {
    let new = path + ".new"
    unlink(new)
    let file = open(new, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard file >= 0 else { return false }
    let isWritten = secret.withBytes { bytes in
      // A few dozen bytes are written at once, unless the disk is full.
      Glibc.write(file, bytes.baseAddress, bytes.count) == bytes.count && Glibc.write(file, "\n", 1) == 1
    }
    let error = errno
    close(file)
    guard isWritten, rename(new, path) == 0 else {
      if !isWritten { errno = error }
      unlink(new)
      return false
    }
    return true
  }

  func remove() {
    unlink(path)
    unlink(path + ".new")
  }
}
