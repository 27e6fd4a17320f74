internal import CPlatform
internal import Glibc

/// SIGINT (Ctrl-C), SIGTERM and SIGHUP as a readable descriptor.
public struct Interruption: Sendable {
  /// Becomes readable when a signal arrives.
  public let descriptor: Int32

  /// Blocks the signals, so that they no longer end the process: for commands that must clean up first.
  public init() throws(CommandFailure) {
    descriptor = lanyard_signalfd()
    guard descriptor >= 0 else {
      throw CommandFailure(.other, name: "system", "Signals can't be read: \(SystemError.message(-descriptor)).")
    }
  }

  /// A signal has arrived.
  public var isPending: Bool {
    var watched = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    return poll(&watched, 1, 0) > 0
  }

  /// Unblocks the signals, so that they end the process again: Ctrl-C with 130. Discards the signals that are pending.
  public func end() {
    while lanyard_signalfd_read(descriptor) != 0 {}
    close(descriptor)
    Self.prepare()
    lanyard_signals_unblock()
  }

  /// For commands without cleanup: Ctrl-C ends the process at once with 130. A closed pipe makes `write` fail instead
  /// of raising SIGPIPE.
  public static func prepare() {
    signal(SIGPIPE, SIG_IGN)
    // A shell starts background commands with SIGINT ignored; keep that.
    let before = signal(SIGINT) { _ in _exit(ExitStatus.interrupted.rawValue) }
    if unsafeBitCast(before, to: Int.self) == 1 { signal(SIGINT, SIG_IGN) }
  }

  /// The failure of an interrupted command.
  public static let failure = CommandFailure(.interrupted, name: "interrupted", "Interrupted.")
}
