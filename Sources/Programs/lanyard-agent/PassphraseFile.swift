internal import Glibc
internal import Secrets

/// Reads a passphrase from a file that only its owner can read. Drops one newline at its end.
enum PassphraseFile {
  private static let maximumBytes = 4096

  static func read(_ path: String) -> Secret? {
    let fd = open(path, O_RDONLY | O_CLOEXEC)
    guard fd >= 0 else { return nil }
    defer { close(fd) }
    var status = stat()
    // The mode of a pipe or of an inherited descriptor says nothing.
    guard fstat(fd, &status) == 0, status.st_mode & S_IFMT != S_IFREG || status.st_mode & 0o077 == 0 else { return nil }
    let bytes = SecretBytes(capacity: maximumBytes) { target in
      var count = 0
      while count < target.count {
        let got = Glibc.read(fd, target.baseAddress! + count, target.count - count)
        if got <= 0 { break }
        count += got
      }
      if count > 0, target[count - 1] == 0x0A { count -= 1 }
      return count
    }
    return bytes.count == 0 ? nil : Secret(bytes)
  }
}
