import CommandSupport
import Glibc

/// What a program of the other store said. Its stdout goes through a pipe to this process and nowhere else.
struct ChildOutput {
  let stdout: HeldBytes
  let stderr: HeldBytes
  /// The exit code, or 128 plus the number of the signal.
  let status: Int32

  var hasSucceeded: Bool { status == 0 }

  /// The last line on stderr.
  var complaint: String {
    let line = stderr.text(0..<stderr.count).split(whereSeparator: \.isNewline).last.map(String.init) ?? ""
    return Text.shown(String(line.prefix(200)))
  }

  /// The path of a program.
  ///
  /// - Throws: the failure that says what to install.
  static func require(_ program: String, package: String) throws(CommandFailure) -> String {
    if let path = AgentPaths.program(program) { return path }
    throw CommandFailure(
      .other, name: "programMissing",
      "\(program) is not installed, and it alone can open its store. Nothing was changed.",
      hints: ["On Debian: `apt install \(package)`."])
  }

  /// Runs a program, which may ask the person at the terminal. `input` is its stdin; nil for none.
  static func of(_ path: String, _ arguments: [String], input: HeldBytes? = nil) throws(CommandFailure) -> ChildOutput {
    var (source, out, err): ([Int32], [Int32], [Int32]) = ([-1, -1], [-1, -1], [-1, -1])
    guard pipe(&source) == 0, pipe(&out) == 0, pipe(&err) == 0 else { throw unable(path, errno) }
    for end in source + out + err { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_adddup2(&actions, source[0], STDIN_FILENO)
    posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO)
    posix_spawn_file_actions_adddup2(&actions, err[1], STDERR_FILENO)
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    // This process ignores SIGPIPE; a program expects that it ends it.
    var ours = sigset_t()
    sigemptyset(&ours)
    sigaddset(&ours, SIGPIPE)
    posix_spawnattr_setsigdefault(&attributes, &ours)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGDEF))
    var child: pid_t = 0
    let error = CStrings.with([path] + arguments) { words in
      posix_spawn(&child, path, &actions, &attributes, words, environ)
    }
    for end in [source[0], out[1], err[1]] { close(end) }
    defer { for end in [out[0], err[0]] { close(end) } }
    guard error == 0 else {
      close(source[1])
      throw unable(path, error)
    }
    let (stdout, stderr) = (HeldBytes(), HeldBytes())
    converse(input ?? HeldBytes(), source[1], (out[0], stdout), (err[0], stderr))
    var status: Int32 = 0
    while waitpid(child, &status, 0) < 0, errno == EINTR {}
    let signal = status & 0x7F
    return ChildOutput(
      stdout: stdout, stderr: stderr, status: signal == 0 ? (status >> 8) & 0xFF : 128 + signal)
  }

  /// Writes the input and reads both outputs at once: each alone could fill its pipe and wait for the other. Closes
  /// `source`.
  private static func converse(
    _ input: HeldBytes, _ source: Int32, _ out: (Int32, HeldBytes), _ err: (Int32, HeldBytes)
  ) {
    _ = fcntl(source, F_SETFL, O_NONBLOCK)
    var (sent, isOpen, reads) = (0, true, [true, true])
    while reads[0] || reads[1] {
      if isOpen, sent == input.count {
        close(source)
        isOpen = false
      }
      var watched = [
        pollfd(fd: reads[0] ? out.0 : -1, events: Int16(POLLIN), revents: 0),
        pollfd(fd: reads[1] ? err.0 : -1, events: Int16(POLLIN), revents: 0),
        pollfd(fd: isOpen ? source : -1, events: Int16(POLLOUT), revents: 0),
      ]
      guard poll(&watched, 3, -1) > 0 else { continue }
      if isOpen, watched[2].revents != 0 {
        let written = input.withBytes { write(source, $0.baseAddress! + sent, $0.count - sent) }
        if written > 0 {
          sent += written
        } else if errno != EAGAIN, errno != EINTR {
          sent = input.count  // the program reads no more
        }
      }
      for (index, (descriptor, bytes)) in [out, err].enumerated() where watched[index].revents != 0 {
        let read = bytes.appendOnce(from: descriptor)
        if read == 0 || read < 0 && errno != EINTR || bytes.count > StoreFile.largestBytes { reads[index] = false }
      }
    }
    if isOpen { close(source) }
  }

  private static func unable(_ path: String, _ error: Int32) -> CommandFailure {
    CommandFailure(.other, name: "system", "\(path) can't be started: \(SystemError.message(error)).")
  }
}
