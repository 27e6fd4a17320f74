import CommandSupport
import FileRules
import Glibc

/// A new file for a secret, which only its owner can read.
struct NewSecretFile {
  let path: String
  let descriptor: Int32

  /// Makes the directory, too. Fails if the file exists.
  init(_ path: String) throws(CommandFailure) {
    self.path = path
    _ = makeDirectories(AgentPaths.directory(of: path))
    descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else {
      throw .usage("\(path) can't be created: \(SystemError.message(errno)). No grant was created.")
    }
  }

  /// Syncs the file: the agent can't return the secret again.
  func finish() throws(CommandFailure) {
    guard fsync(descriptor) == 0 else {
      throw CommandFailure(
        .other, name: "output", "The secret could not be written to \(path): \(SystemError.message(errno)).")
    }
    close(descriptor)
  }

  /// Removes the file, which holds no secret.
  func abandon() {
    close(descriptor)
    unlink(path)
  }
}
