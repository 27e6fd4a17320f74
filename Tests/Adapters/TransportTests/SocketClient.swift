import CPlatform
import Foundation

/// A client on a real socket. Its calls block for up to a minute: use it inside `offPool`.
final class SocketClient: @unchecked Sendable {
  // One test's thread uses it at a time.
  let descriptor: Int32
  private var received: [UInt8] = []

  init(_ path: String) throws {
    descriptor = lanyard_connect_unix(path)
    guard descriptor >= 0 else { throw POSIXError(POSIXErrorCode(rawValue: -descriptor) ?? .EIO) }
    var limit = timeval(tv_sec: 60, tv_usec: 0)
    for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
      setsockopt(descriptor, SOL_SOCKET, option, &limit, socklen_t(MemoryLayout<timeval>.size))
    }
  }

  deinit { close(descriptor) }

  /// The end of a stream, or `nothingCame` if no byte came in time.
  enum Ending: Equatable { case end, reset, nothingCame }

  /// False if the agent accepts no more bytes.
  @discardableResult func send(_ text: String) -> Bool { send([UInt8](text.utf8)) }

  @discardableResult func send(_ bytes: [UInt8]) -> Bool {
    var sent = 0
    while sent < bytes.count {
      let count = bytes[sent...].withUnsafeBytes {
        Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
      }
      guard count > 0 else { return false }
      sent += count
    }
    return true
  }

  /// Sends as much as fits without waiting; returns the number of bytes sent.
  func sendWhatFits(_ bytes: [UInt8]) -> Int {
    var sent = 0
    while sent < bytes.count {
      let count = bytes[sent...].withUnsafeBytes {
        Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
      }
      guard count > 0 else { return sent }
      sent += count
    }
    return sent
  }

  func endInput() { shutdown(descriptor, Int32(SHUT_WR)) }

  /// The next line; nil if the stream ended or no line came in time.
  func line() -> String? {
    var searched = 0
    while true {
      if let newline = received[searched...].firstIndex(of: 0x0A) {
        defer { received.removeFirst(newline + 1) }
        return String(decoding: received[..<newline], as: UTF8.self)
      }
      searched = received.count
      guard fill() == nil else { return nil }
    }
  }

  func answer() -> Answer? { line().map(Answer.init) }

  /// Reads to the end of the stream.
  func rest() -> (lines: [Answer], ending: Ending) {
    while true {
      guard let ending = fill() else { continue }
      let lines = received.split(separator: 0x0A).map { Answer(String(decoding: $0, as: UTF8.self)) }
      received = []
      return (lines, ending)
    }
  }

  private func fill() -> Ending? {
    var chunk = [UInt8](repeating: 0, count: 65_536)
    let count = read(descriptor, &chunk, chunk.count)
    if count == 0 { return .end }
    if count < 0 { return errno == EAGAIN ? .nothingCame : .reset }
    received += chunk[..<count]
    return nil
  }
}

/// Runs blocking work on a separate thread: the few threads of the concurrency pool belong to the agent.
func offPool<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws -> Result {
  try await withCheckedThrowingContinuation { continuation in
    let thread = Thread { continuation.resume(with: Swift.Result { try body() }) }
    thread.stackSize = 1 << 20
    thread.start()
  }
}
