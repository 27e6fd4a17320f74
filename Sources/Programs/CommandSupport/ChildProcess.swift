internal import Glibc

/// Runs a command as a shell does, and passes signals on to it.
public enum ChildProcess {
  /// The signals that this process got before it took them for the command.
  public struct Signals: ~Copyable {
    fileprivate let taken: ChildSignals
    fileprivate var before = sigset_t()

    /// From now on no signal ends this process, so that what it writes is removed in the end.
    public init() throws(CommandFailure) {
      sigprocmask(SIG_BLOCK, nil, &before)
      taken = try ChildSignals()
    }
  }

  /// What a program gets that runs the command for this one, as bwrap does.
  public struct Wrapping {
    let descriptors: [Int32]

    /// - Parameter descriptors: it gets these as 3, 4, …; here they are closed.
    public init(descriptors: [Int32]) { self.descriptors = descriptors }
  }

  /// Returns the exit code for this process.
  ///
  /// - Parameters:
  ///   - work: done before each wait; it returns the milliseconds until it is due again.
  ///   - wrapping: for a program that runs the command, as the only child of its only child. Signals are for the command,
  ///     which lets them through itself.
  ///   - json: how it is told that the command can't be run.
  public static func run(
    _ command: [String], _ environment: consuming ChildEnvironment, _ signals: borrowing Signals,
    whileWaiting work: (() -> Int32)? = nil, wrapping: Wrapping? = nil, json: Bool = false
  ) -> Int32 {
    var mask = signals.before
    if wrapping != nil { for signal in passedOn { sigaddset(&mask, signal) } }
    let (child, error) = start(command, environment, mask: mask, wrapping?.descriptors ?? [])
    // The tokens are the command's now: they need not stay here for its lifetime.
    _ = consume environment
    guard error == 0 else { return tellFailure(of: command[0], error, json: json) }
    while true {
      var status: Int32 = 0
      let ended = waitpid(child, &status, WNOHANG)
      if ended == child {
        let signal = status & 0x7F
        return signal == 0 ? (status >> 8) & 0xFF : 128 + signal
      }
      signals.taken.wait(milliseconds: work?() ?? -1) { signal in
        if wrapping == nil {
          kill(child, signal)
        } else if let inner = onlyChild(of: child).flatMap(onlyChild) {
          kill(inner, signal)
        } else if ending.contains(signal) {
          // The command has not begun.
          kill(child, SIGKILL)
        }
      }
    }
  }

  /// Says why a command can't be run, and returns the exit code for that.
  public static func tellFailure(of command: String, _ error: Int32, json: Bool) -> Int32 {
    let status: ExitStatus = error == ENOENT ? .commandNotFound : .commandNotRun
    let message = "\(command) can't be run: \(SystemError.message(error))."
    Output.tell(CommandFailure(status, name: "commandNotRun", message), json: json)
    return status.rawValue
  }

  private static let ending: Set<Int32> = [SIGHUP, SIGINT, SIGQUIT, SIGTERM]
  private static let passedOn = ending.union([SIGUSR1, SIGUSR2])

  private static func onlyChild(of process: pid_t) -> pid_t? {
    guard let file = fopen("/proc/\(process)/task/\(process)/children", "re") else { return nil }
    defer { fclose(file) }
    var bytes = [UInt8](repeating: 0, count: 64)
    let count = fread(&bytes, 1, bytes.count, file)
    return String(decoding: bytes[..<count], as: UTF8.self).split(separator: " ").first.flatMap { pid_t($0) }
  }

  private static func start(
    _ command: [String], _ environment: borrowing ChildEnvironment, mask: sigset_t, _ handed: [Int32]
  ) -> (pid_t, Int32) {
    // Above the numbers that the command gets, so that no copy replaces one that is still to be copied.
    let copies = handed.map { fcntl($0, F_DUPFD_CLOEXEC, firstCopy) }
    defer { for descriptor in copies + handed { close(descriptor) } }
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    for (index, copy) in copies.enumerated() { posix_spawn_file_actions_adddup2(&actions, copy, 3 + Int32(index)) }
    var child: pid_t = 0
    let error = environment.withPointers { variables in
      withChildAttributes(mask: mask) { attributes -> Int32 in
        func spawn(_ words: [String]) -> Int32 {
          CStrings.with(words) { arguments in
            posix_spawnp(&child, words[0], &actions, attributes, arguments, variables)
          }
        }
        let error = spawn(command)
        // A script without `#!`: a shell and execvp(3) run it by sh, posix_spawnp(3) does not.
        guard error == ENOEXEC, let script = found(command[0]) else { return error }
        return spawn(["/bin/sh", script] + command.dropFirst())
      }
    }
    return (child, error)
  }

  /// The file that posix_spawnp(3) finds by a name. Its path has a slash, so that sh does not look for it elsewhere.
  private static func found(_ name: String) -> String? {
    guard !name.contains("/") else { return name }
    let path = getenv("PATH").map { String(cString: $0) } ?? "/bin:/usr/bin"
    return path.split(separator: ":", omittingEmptySubsequences: false)
      .map { $0.isEmpty ? "./\(name)" : "\($0)/\(name)" }
      .first { path in
        var information = stat()
        return stat(path, &information) == 0 && information.st_mode & S_IFMT == S_IFREG && access(path, X_OK) == 0
      }
  }

  private static let firstCopy: Int32 = 16
}
