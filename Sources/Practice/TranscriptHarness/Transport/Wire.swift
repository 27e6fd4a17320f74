internal import Glibc

/// A client's end of one connection.
protocol Wire: AnyObject {
  /// Nil for a client that was refused.
  var tap: Tap? { get }
  /// Sends in one piece if the transport can.
  func send(_ bytes: [UInt8])
  /// Ends the sending; the client still reads.
  func halfClose()
  func close()
  /// The bytes received since the last call.
  func receive() -> [UInt8]
  /// Whether the agent has closed the connection.
  var hasEnded: Bool { get }
  /// The descriptor for poll(2); -1 if there is none.
  var descriptor: Int32 { get }
}

/// A client over descriptors: a socket, or two pipes.
final class DescriptorWire: Wire {
  let tap: Tap?
  private(set) var hasEnded = false
  private var input: Int32
  private var output: Int32
  private let isSocket: Bool
  private var received: [UInt8] = []

  /// For a socket both descriptors are the same.
  init(input: Int32, output: Int32, tap: Tap?) {
    self.input = input
    self.output = output
    self.tap = tap
    isSocket = input == output
    for descriptor in [input, output] {
      _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
    }
  }

  deinit { close() }

  var descriptor: Int32 { hasEnded ? -1 : input }

  func send(_ bytes: [UInt8]) {
    var rest = bytes[...]
    while !rest.isEmpty, output >= 0 {
      let count = rest.withUnsafeBytes { bytes in
        isSocket
          ? Glibc.send(output, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL))
          : Glibc.write(output, bytes.baseAddress, bytes.count)
      }
      if count > 0 {
        rest = rest.dropFirst(count)
      } else if errno == EAGAIN {
        // The agent may stop reading until the client reads.
        drain()
        var ready = [
          pollfd(fd: output, events: Int16(POLLOUT), revents: 0),
          pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0),
        ]
        _ = poll(&ready, 2, 1000)
      } else if errno != EINTR {
        return  // closed by the agent; its last lines give the reason
      }
    }
  }

  func halfClose() {
    guard output >= 0 else { return }
    if isSocket {
      _ = shutdown(output, Int32(SHUT_WR))
    } else {
      Glibc.close(output)
      output = -1
    }
  }

  func close() {
    if output >= 0, !isSocket { Glibc.close(output) }
    if input >= 0 { Glibc.close(input) }
    (input, output) = (-1, -1)
    hasEnded = true
  }

  func receive() -> [UInt8] {
    drain()
    defer { received = [] }
    return received
  }

  private func drain() {
    var buffer = [UInt8](repeating: 0, count: 1 << 16)
    while !hasEnded, input >= 0 {
      let count = read(input, &buffer, buffer.count)
      if count > 0 {
        received += buffer[..<count]
      } else if count == 0 || errno == ECONNRESET {
        hasEnded = true
      } else if errno != EINTR {
        return
      }
    }
  }
}
