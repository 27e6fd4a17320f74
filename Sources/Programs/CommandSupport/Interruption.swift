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

  /// What Ctrl-C writes to standard error. A handler of a signal may put nothing together: it stands ready.
  nonisolated(unsafe) private static var lastWords = UnsafeBufferPointer<UInt8>(start: nil, count: 0)

  /// For commands without cleanup: Ctrl-C ends the process at once with 130. A closed pipe makes `write` fail instead
  /// of raising SIGPIPE.
  public static func prepare(json: Bool = false) {
    signal(SIGPIPE, SIG_IGN)
    if json { lastWords = kept(failure.json + "\n") }
    // A shell starts background commands with SIGINT ignored; keep that.
    let before = signal(SIGINT) { _ in
      _ = Glibc.write(STDERR_FILENO, Interruption.lastWords.baseAddress, Interruption.lastWords.count)
      _exit(ExitStatus.interrupted.rawValue)
    }
    if unsafeBitCast(before, to: Int.self) == 1 { signal(SIGINT, SIG_IGN) }
  }

  /// Performs a call that the agent finishes also when nobody waits for it: Ctrl-C then says so.
  ///
  /// - Parameter consequence: what goes on, and which command shows how it ends.
  public static func telling<Value>(
    _ consequence: String, json: Bool, _ call: () throws(CommandFailure) -> Value
  ) throws(CommandFailure) -> Value {
    let before = lastWords
    let interrupted = CommandFailure(.interrupted, name: "interrupted", "Interrupted. \(consequence)")
    lastWords = kept(json ? interrupted.json + "\n" : "\nlanyard: \(interrupted.message)\n")
    defer { lastWords = before }
    return try call()
  }

  /// Never freed: a signal may come at any moment.
  private static func kept(_ text: String) -> UnsafeBufferPointer<UInt8> {
    let bytes = Array(text.utf8)
    let buffer = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: bytes.count)
    _ = buffer.initialize(from: bytes)
    return UnsafeBufferPointer(buffer)
  }

  /// The failure of an interrupted command.
  public static let failure = CommandFailure(.interrupted, name: "interrupted", "Interrupted.")
}
