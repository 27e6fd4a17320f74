import Foundation
import Glibc
import Synchronization

/// A loopback server that handles each connection with the test's closure, and counts connections.
final class RawServer: Sendable {
  private let descriptor: Int32
  let port: UInt16
  private let seen = Mutex<(connections: Int, requests: [String])>((0, []))

  var url: String { "http://127.0.0.1:\(port)" }
  var connections: Int { seen.withLock { $0.connections } }
  /// Head and body of each request received.
  var requests: [String] { seen.withLock { $0.requests } }

  init(_ behaviour: @escaping @Sendable (Connection) -> Void) {
    (descriptor, port) = Self.listen(backlog: 128)
    Thread.detachNewThread { [self] in
      while true {
        let peer = accept(descriptor, nil, nil)
        guard peer >= 0 else { return }
        seen.withLock { $0.connections += 1 }
        Thread.detachNewThread { [self] in
          behaviour(Connection(descriptor: peer) { text in self.seen.withLock { $0.requests.append(text) } })
          close(peer)
        }
      }
    }
  }

  /// Reads a request, answers it, closes.
  convenience init(answering answer: String) {
    self.init { connection in
      connection.readRequest()
      connection.send(answer)
    }
  }

  func stop() { shutdown(descriptor, Int32(SHUT_RDWR)) }

  static func listen(backlog: Int32) -> (Int32, UInt16) {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = loopback(port: 0)
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
        precondition(bind(descriptor, pointer, length) == 0)
        precondition(Glibc.listen(descriptor, backlog) == 0)
        precondition(getsockname(descriptor, pointer, &length) == 0)
      }
    }
    return (descriptor, UInt16(bigEndian: address.sin_port))
  }

  static func loopback(port: UInt16) -> sockaddr_in {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    return address
  }

  struct Connection: Sendable {
    let descriptor: Int32
    let note: @Sendable (String) -> Void

    /// Reads a head and the announced body; returns what has arrived if the peer closes.
    @discardableResult func readRequest() -> String {
      var bytes: [UInt8] = []
      var buffer = [UInt8](repeating: 0, count: 65_536)
      while true {
        let count = read(descriptor, &buffer, buffer.count)
        guard count > 0 else { break }
        bytes += buffer[..<count]
        let text = String(decoding: bytes, as: UTF8.self)
        guard let end = text.range(of: "\r\n\r\n") else { continue }
        let announced = text.lowercased().range(of: "content-length: ").flatMap { range in
          Int(text[range.upperBound...].prefix { $0.isNumber })
        }
        if text[end.upperBound...].utf8.count >= announced ?? 0 { break }
      }
      let text = String(decoding: bytes, as: UTF8.self)
      note(text)
      return text
    }

    /// False if the peer is gone.
    @discardableResult func send(_ text: String) -> Bool {
      let bytes = Array(text.utf8)
      return Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count
    }

    func waitUntilPeerCloses() {
      var byte: UInt8 = 0
      while read(descriptor, &byte, 1) > 0 {}
    }

    /// Closes the connection now. The server closes the descriptor later, so its number must not go to another file
    /// meanwhile.
    func hangUp() {
      let nothing = open("/dev/null", O_RDONLY)
      dup2(nothing, descriptor)
      close(nothing)
    }

    /// The close that follows is a reset.
    func resetOnClose() {
      var linger = linger(l_onoff: 1, l_linger: 0)
      setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout.size(ofValue: linger)))
    }
  }
}

/// A local address that neither accepts nor refuses connections: its queue is full.
final class DeafAddress {
  let url: String
  private var descriptors: [Int32]

  init() {
    let (descriptor, port) = RawServer.listen(backlog: 0)
    url = "http://127.0.0.1:\(port)/"
    descriptors = [descriptor]
    for _ in 0..<4 {
      let filler = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0)
      var address = RawServer.loopback(port: port)
      withUnsafePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          _ = connect(filler, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
        }
      }
      descriptors.append(filler)
    }
  }

  deinit { for descriptor in descriptors { close(descriptor) } }
}

/// Opened once, by the thread that saw the awaited event.
final class Latch: Sendable {
  private let (stream, continuation) = AsyncStream.makeStream(of: Void.self)
  func open() { continuation.finish() }
  func wait() async { for await _ in stream {} }
}
