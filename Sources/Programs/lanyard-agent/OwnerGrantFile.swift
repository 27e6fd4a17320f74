internal import Glibc
internal import Secrets

/// With `--strict-grants`, how the person's own programs come in: a grant that covers everything, in a file beside the
/// store. It is a new one at each start. A program that is shut in and sees no more than the socket can't read it.
struct OwnerGrantFile {
  let path: String

  init(stateDirectory: String) { path = stateDirectory + "/owner-grant" }

  /// In place, whole and nobody else's to read, or not there; false with `errno` if the disk says no. It need not be
  /// durable: the next start makes another one.
  func write(_ secret: Secret) -> Bool {
    let new = path + ".new"
    unlink(new)
    let file = open(new, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard file >= 0 else { return false }
    let isWritten = secret.withBytes { bytes in
      // A few dozen bytes: a file takes them in one piece or the disk is full.
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
