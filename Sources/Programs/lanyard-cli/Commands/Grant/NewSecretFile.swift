import CommandSupport
import Glibc

/// A file that did not exist, for a secret that only its owner may read.
struct NewSecretFile {
  let path: String
  let descriptor: Int32

  /// Nothing that is there is written over.
  init(_ path: String) throws(CommandFailure) {
    self.path = path
    descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else {
      throw .usage("\(path) can't be made: \(SystemError.words(errno)). Nothing was done.")
    }
  }

  /// What was written must be there when the agent has forgotten it.
  func finish() throws(CommandFailure) {
    guard fsync(descriptor) == 0 else {
      throw CommandFailure(
        .other, name: "output", "The secret could not be written to \(path): \(SystemError.words(errno)).",
        hints: ["`lanyard grant list` shows the grant; revoke it and make another."])
    }
    close(descriptor)
  }

  /// It holds no secret.
  func abandon() {
    close(descriptor)
    unlink(path)
  }
}
