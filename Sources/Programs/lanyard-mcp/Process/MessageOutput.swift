internal import CommandSupport
internal import Glibc
internal import Synchronization
internal import Threads

/// Standard output: one message a line, and one writer at a time.
final class MessageOutput: Sendable {
  private let isOpen = Mutex(true)
  /// Signalled when the client reads no more.
  let closed = WakeUp()

  /// Writes a message and a newline, in one call where the pipe has room.
  func write(_ message: [UInt8]) {
    var line = message
    line.append(0x0A)
    isOpen.withLock { isOpen in
      guard isOpen else { return }
      isOpen = line.withUnsafeBytes { Output.write($0, to: STDOUT_FILENO) }
      if !isOpen { closed.signal() }
    }
  }
}
