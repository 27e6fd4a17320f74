package import Glibc

/// Writes a whole file under another name beside it, and gives it its own name in one step: a reader finds the old content
/// or the new one. 0, or the error; nothing is left then.
///
/// - Parameters:
///   - draft: the other name. A file there is one that a process which was killed left behind.
///   - isDurable: the content is on the disk before it gets its name.
///   - replacing: whether a file at `path` is replaced; if not, it stays, and this fails.
package func writeFile(
  _ bytes: UnsafeRawBufferPointer, to path: String, draft: String, mode: mode_t = 0o600, isDurable: Bool,
  replacing: Bool = true
) -> Int32 {
  unlink(draft)
  let file = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
  guard file >= 0 else { return errno }
  var rest = bytes[...]
  var isWritten = true
  while isWritten, !rest.isEmpty {
    let count = write(file, UnsafeRawBufferPointer(rebasing: rest).baseAddress!, rest.count)
    if count > 0 { rest = rest.dropFirst(count) } else { isWritten = count < 0 && errno == EINTR }
  }
  isWritten = isWritten && (mode == 0o600 || fchmod(file, mode) == 0) && (!isDurable || fsync(file) == 0)
  var error = errno
  close(file)
  if isWritten {
    if replacing ? rename(draft, path) == 0 : link(draft, path) == 0 {
      if !replacing { unlink(draft) }
      return 0
    }
    error = errno
  }
  unlink(draft)
  return error
}
