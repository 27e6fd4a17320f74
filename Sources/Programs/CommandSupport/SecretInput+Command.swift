internal import Glibc

extension SecretInput {
  /// The first line of a command's output, for example of `pass show lanyard`. `/bin/sh` runs the command with this
  /// process's environment and terminal. The secret appears in no argument.
  public static func firstLine(ofCommand command: String) throws(CommandFailure) -> SecretInput {
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else { throw unable(errno) }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    let (child, error) = start(command, stdout: ends[1])
    close(ends[1])
    guard error == 0 else {
      close(ends[0])
      throw unable(error)
    }
    let said: Said
    do throws(CommandFailure) {
      said = .line(try firstLine(from: ends[0], of: "The output of the command"))
    } catch {
      said = .failure(error)
    }
    // A command that still writes gets SIGPIPE.
    close(ends[0])
    let status = ending(of: child)
    switch consume said {
    case .failure(let failure): throw failure
    case .line(let line):
      guard status == 0 else {
        throw CommandFailure(
          .other, name: "passwordCommand",
          "The command for the passphrase ended with \(status). The vault was not touched.",
          hints: ["Try it alone: it must print the passphrase on its first line and exit with 0."])
      }
      guard !line.isEmpty else {
        throw .usage("The command for the passphrase printed nothing. The vault was not touched.")
      }
      return line
    }
  }

  private enum Said: ~Copyable {
    case line(SecretInput)
    case failure(CommandFailure)
  }

  private static func start(_ command: String, stdout: Int32) -> (pid_t, Int32) {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_adddup2(&actions, stdout, STDOUT_FILENO)
    var child: pid_t = 0
    let error = CStrings.with(["sh", "-c", command]) { arguments in
      withChildAttributes { posix_spawn(&child, "/bin/sh", &actions, $0, arguments, environ) }
    }
    return (child, error)
  }

  /// The exit code, or 128 plus the number of the signal, as shells count.
  private static func ending(of child: pid_t) -> Int32 {
    var status: Int32 = 0
    while waitpid(child, &status, 0) < 0, errno == EINTR {}
    let signal = status & 0x7F
    return signal == 0 ? (status >> 8) & 0xFF : 128 + signal
  }

  private static func unable(_ error: Int32) -> CommandFailure {
    CommandFailure(
      .other, name: "system", "The command for the passphrase can't be started: \(SystemError.message(error)).")
  }
}
