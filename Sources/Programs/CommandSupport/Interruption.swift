internal import CPlatform
internal import Glibc

/// Ctrl-C, and what else asks a program to end.
public struct Interruption: Sendable {
  /// Becomes readable when somebody asked.
  public let descriptor: Int32

  /// From here on SIGINT, SIGTERM and SIGHUP no longer end the process by themselves: for commands that have something
  /// to undo first.
  public init() throws(CommandFailure) {
    descriptor = lanyard_signalfd()
    guard descriptor >= 0 else {
      throw CommandFailure(.other, name: "system", "Signals can't be read: \(SystemError.words(-descriptor)).")
    }
  }

  /// Nothing is left to undo: a signal ends the process again. What came until now is forgotten, since it was heeded.
  public func end() {
    while lanyard_signalfd_read(descriptor) != 0 {}
    close(descriptor)
    lanyard_signals_unblock()
  }

  /// The plain case: Ctrl-C ends the process at once with 130, as the contract's table says; a closed pipe is an error
  /// of `write`, not a signal.
  public static func prepare() {
    signal(SIGPIPE, SIG_IGN)
    // A shell that starts a command in the background has it ignore Ctrl-C: that stays so.
    let before = signal(SIGINT) { _ in _exit(ExitStatus.interrupted.rawValue) }
    if unsafeBitCast(before, to: Int.self) == 1 { signal(SIGINT, SIG_IGN) }
  }

  /// The failure that ends an interrupted command.
  public static let failure = CommandFailure(.interrupted, name: "interrupted", "Interrupted.")
}
