internal import FileRules
internal import Glibc
internal import Secrets

/// Reads a passphrase from a file that only its owner can read. The text is what `SecretText` says.
enum PassphraseFile {
  private static let maximumBytes = 4096

  /// Why there is no passphrase, said of the file.
  struct Failure: Error { let words: String }

  static func read(_ path: String) throws(Failure) -> Secret {
    guard let fd = try? FileRule.passphrase.open(path, followingLinks: true) else {
      throw Failure(words: "can't be read, or can be read by others")
    }
    defer { close(fd) }
    let whole = SecretBytes(capacity: maximumBytes) { target in
      var count = 0
      while count < target.count {
        let got = Glibc.read(fd, target.baseAddress! + count, target.count - count)
        if got <= 0 { break }
        count += got
      }
      return count
    }
    do throws(SecretText.Problem) {
      let passphrase = try Secret(whole).withBytes { (bytes) throws(SecretText.Problem) in
        Secret(copying: UnsafeRawBufferPointer(rebasing: bytes[try SecretText.range(in: bytes)]))
      }
      if passphrase.count > 0 { return passphrase }
    } catch {
      throw Failure(words: error.words)
    }
    throw Failure(words: "is empty")
  }
}
