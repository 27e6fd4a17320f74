import CommandSupport
import Glibc

/// Runs a command as a shell does, and passes signals on to it.
enum ChildProcess {
  /// What a shell returns for a command that it does not find, and for one that can't be run.
  private static let notFound: Int32 = 127
  private static let notRunnable: Int32 = 126

  /// The signals that this process got before it took them for the command.
  struct Signals: ~Copyable {
    fileprivate let taken: ChildSignals
    fileprivate var before = sigset_t()

    /// From now on no signal ends this process, so that what it writes is removed in the end.
    init() throws(CommandFailure) {
      sigprocmask(SIG_BLOCK, nil, &before)
      taken = try ChildSignals()
    }
  }

  /// Returns the exit code for this process.
  static func run(
    _ command: [String], _ environment: consuming ChildEnvironment, _ signals: borrowing Signals,
    whileWaiting file: TokenFile?
  ) -> Int32 {
    var before = signals.before
    let (child, error) = start(command, environment, mask: &before)
    // The tokens are the command's now: they need not stay here for its lifetime.
    _ = consume environment
    guard error == 0 else {
      Output.instruction("lanyard: \(Text.shown(command[0])) can't be run: \(SystemError.message(error)).")
      return error == ENOENT ? notFound : notRunnable
    }
    while true {
      var status: Int32 = 0
      let ended = waitpid(child, &status, WNOHANG)
      if ended == child {
        let signal = status & 0x7F
        return signal == 0 ? (status >> 8) & 0xFF : 128 + signal
      }
      signals.taken.wait(milliseconds: file?.renewWhenDue() ?? -1, passingTo: child)
    }
  }

  private static func start(
    _ command: [String], _ environment: borrowing ChildEnvironment, mask: inout sigset_t
  ) -> (pid_t, Int32) {
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    // This process ignores SIGPIPE and catches SIGINT; a command inherits what this process was given.
    var ours = sigset_t()
    sigemptyset(&ours)
    sigaddset(&ours, SIGPIPE)
    posix_spawnattr_setsigdefault(&attributes, &ours)
    posix_spawnattr_setsigmask(&attributes, &mask)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK))
    var child: pid_t = 0
    let error = environment.withPointers { variables in
      CStrings.with(command) { arguments in
        posix_spawnp(&child, command[0], nil, &attributes, arguments, variables)
      }
    }
    return (child, error)
  }
}
