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
      "\(program) is not installed, and only it can open its store. Nothing was changed.",
      hints: ["On Debian: `apt install \(package)`."])
  }

  /// Runs a program, which may ask the person at the terminal. `input` is its stdin; nil for none. An `interruption` ends
  /// it. Programs that it leaves behind are not waited for.
  static func of(
    _ path: String, _ arguments: [String], input: HeldBytes? = nil, interruption: Interruption? = nil
  ) throws(CommandFailure) -> ChildOutput {
    var (source, out, err): ([Int32], [Int32], [Int32]) = ([-1, -1], [-1, -1], [-1, -1])
    guard pipe(&source) == 0, pipe(&out) == 0, pipe(&err) == 0 else { throw unable(path, errno) }
    for end in source + out + err { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_adddup2(&actions, source[0], STDIN_FILENO)
    posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO)
    posix_spawn_file_actions_adddup2(&actions, err[1], STDERR_FILENO)
    // The program does not inherit the signals that this process takes by a descriptor.
    var none = sigset_t()
    sigemptyset(&none)
    var child: pid_t = 0
    let error = CStrings.with([path] + arguments) { words in
      withChildAttributes(mask: none) { posix_spawn(&child, path, &actions, $0, words, environ) }
    }
    for end in [source[0], out[1], err[1]] { close(end) }
    defer { for end in [out[0], err[0]] { close(end) } }
    guard error == 0 else {
      close(source[1])
      throw unable(path, error)
    }
    let (stdout, stderr) = (HeldBytes(), HeldBytes())
    let status = converse(
      with: child, input ?? HeldBytes(), source[1], (out[0], stdout), (err[0], stderr), interruption)
    let signal = status & 0x7F
    return ChildOutput(
      stdout: stdout, stderr: stderr, status: signal == 0 ? (status >> 8) & 0xFF : 128 + signal)
  }

  /// How often a program is asked whether it has ended while another one holds its output open.
  private static let pauseMilliseconds: Int32 = 50

  /// Writes the input and reads both outputs at once: each alone could fill its pipe and wait for the other. Closes
  /// `source`. Returns the status of the program (waitpid(2)).
  private static func converse(
    with child: pid_t, _ input: HeldBytes, _ source: Int32, _ out: (Int32, HeldBytes), _ err: (Int32, HeldBytes),
    _ interruption: Interruption?
  ) -> Int32 {
    _ = fcntl(source, F_SETFL, O_NONBLOCK)
    var (sent, isOpen, reads) = (0, true, [true, true])
    var (status, hasEnded): (Int32, Bool) = (0, false)
    while true {
      if isOpen, sent == input.count {
        close(source)
        isOpen = false
      }
      if !hasEnded { hasEnded = waitpid(child, &status, WNOHANG) == child }
      var watched = [
        pollfd(fd: reads[0] ? out.0 : -1, events: Int16(POLLIN), revents: 0),
        pollfd(fd: reads[1] ? err.0 : -1, events: Int16(POLLIN), revents: 0),
        pollfd(fd: isOpen && !hasEnded ? source : -1, events: Int16(POLLOUT), revents: 0),
        pollfd(fd: hasEnded ? -1 : interruption?.descriptor ?? -1, events: Int16(POLLIN), revents: 0),
      ]
      let ready = poll(&watched, 4, hasEnded ? 0 : pauseMilliseconds)
      // What it wrote before its end is there; what another program writes later is not waited for.
      if ready <= 0, hasEnded { break }
      if ready > 0, watched[3].revents != 0 {
        kill(child, SIGTERM)
        while waitpid(child, &status, 0) < 0, errno == EINTR {}
        break
      }
      if isOpen, watched[2].revents != 0 {
        let written = input.withBytes { write(source, $0.baseAddress! + sent, $0.count - sent) }
        if written > 0 {
          sent += written
        } else if errno != EAGAIN, errno != EINTR {
          sent = input.count  // the program reads no more
        }
      }
      for (index, (descriptor, bytes)) in [out, err].enumerated() where watched[index].revents != 0 {
        let read = bytes.count > StoreFile.largestBytes ? discard(from: descriptor) : bytes.appendOnce(from: descriptor)
        if read == 0 || read < 0 && errno != EINTR { reads[index] = false }
      }
    }
    if isOpen { close(source) }
    return status
  }

  /// Beyond the bound nothing is kept, and the program may go on.
  private static func discard(from descriptor: Int32) -> Int {
    withUnsafeTemporaryAllocation(byteCount: 65_536, alignment: 1) { read(descriptor, $0.baseAddress!, $0.count) }
  }

  private static func unable(_ path: String, _ error: Int32) -> CommandFailure {
    CommandFailure(.other, name: "system", "\(path) can't be started: \(SystemError.message(error)).")
  }
}
