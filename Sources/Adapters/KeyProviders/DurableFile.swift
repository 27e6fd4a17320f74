package import AgentPorts
internal import CPlatform
internal import FileRules
internal import Glibc

/// Opens a file that keeps the rule; nil if it does not exist.
func openPrivately(_ path: String, _ rule: FileRule = .madeFile) throws(KeySourceFailure) -> Int32? {
  do throws(FileFault) {
    return try rule.open(path)
  } catch {
    switch error.code {
    case ENOENT: return nil
    case ELOOP, EPERM, EACCES, EINVAL, ENXIO, EISDIR: throw .unsafePermissions
    default: throw .unavailable
    }
  }
}

/// Reads to the end or until the buffer is full; nil if reading fails.
func readAll(_ file: Int32, into buffer: UnsafeMutableRawBufferPointer) -> Int? {
  var count = 0
  while count < buffer.count {
    let got = read(file, buffer.baseAddress! + count, buffer.count - count)
    if got < 0, errno == EINTR { continue }
    if got < 0 { return nil }
    if got == 0 { break }
    count += got
  }
  return count
}

/// Writes a file of mode 0600 atomically: it is complete and on the disk when this returns, or absent.
///
/// - Parameter replacing: whether an existing file of that name may be replaced; if not, it stays and this throws.
package func writeDurably(
  _ bytes: UnsafeRawBufferPointer, to path: String, replacing: Bool
) throws(KeySourceFailure) {
  guard let slash = path.lastIndex(of: "/") else { throw .unavailable }
  let directory = lanyard_open_directory_for_sync(slash == path.startIndex ? "/" : String(path[..<slash]))
  guard directory >= 0 else { throw .unavailable }
  defer { close(directory) }
  let name = String(path[path.index(after: slash)...])
  let temporary = name + ".new"
  // A temporary file that a crash left behind; only this process writes here.
  unlinkat(directory, temporary, 0)
  let file = openat(directory, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
  guard file >= 0 else { throw .unavailable }
  defer { close(file) }
  var isPlaced = false
  defer { if !isPlaced { unlinkat(directory, temporary, 0) } }

  guard fchmod(file, 0o600) == 0, writeAll(bytes, to: file), fsync(file) == 0 else { throw .unavailable }
  if replacing {
    guard renameat(directory, temporary, directory, name) == 0 else { throw .unavailable }
    isPlaced = true
  } else {
    // Links a second name, which fails if that name exists, then removes the first.
    guard linkat(directory, temporary, directory, name, 0) == 0 else { throw .unavailable }
  }
  guard fsync(directory) == 0 else { throw .unavailable }
}

private func writeAll(_ bytes: UnsafeRawBufferPointer, to file: Int32) -> Bool {
  var rest = bytes[...]
  while !rest.isEmpty {
    let written = write(file, UnsafeRawBufferPointer(rebasing: rest).baseAddress!, rest.count)
    if written < 0, errno == EINTR { continue }
    guard written > 0 else { return false }
    rest = rest.dropFirst(written)
  }
  return true
}
