internal import FileRules
internal import Glibc
internal import Secrets

/// Reads a passphrase from a file that only its owner can read. Drops one newline at its end.
enum PassphraseFile {
  private static let maximumBytes = 4096

  static func read(_ path: String) -> Secret? {
    guard let fd = try? FileRule.passphrase.open(path, followingLinks: true) else { return nil }
    defer { close(fd) }
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
