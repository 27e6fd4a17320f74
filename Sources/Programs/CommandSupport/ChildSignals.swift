internal import CPlatform
internal import Glibc

/// The signals that a program passes on to one that it runs, and the end of that program, as a readable descriptor.
public struct ChildSignals: ~Copyable {
  private let descriptor: Int32

  /// Blocks the signals.
  public init() throws(CommandFailure) {
    descriptor = lanyard_child_signalfd()
    guard descriptor >= 0 else {
      throw CommandFailure(.other, name: "system", "Signals can't be read: \(SystemError.message(-descriptor)).")
    }
  }

  deinit { close(descriptor) }

  /// Waits for a signal, or for the timeout; -1 waits without one. `pass` gets those that other programs sent:
  /// what the terminal sends, it sends to the child as well.
  public func wait(milliseconds: Int32, passing pass: (Int32) -> Void) {
    var watched = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    poll(&watched, 1, milliseconds)
    var isFromProgram: Int32 = 0
    while true {
      let signal = lanyard_child_signalfd_read(descriptor, &isFromProgram)
      if signal == 0 { return }
      if isFromProgram != 0, signal != SIGCHLD { pass(signal) }
    }
  }
}
