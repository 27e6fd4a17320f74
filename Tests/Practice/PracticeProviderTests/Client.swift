import Foundation

/// A bare socket, so that a test writes each byte itself.
final class Client {
  struct Failure: Error { let number: Int32 }

  private let descriptor: Int32

  init(port: UInt16, isV6: Bool = false) throws {
    descriptor = socket(isV6 ? AF_INET6 : AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    let result = isV6 ? Self.connect6(descriptor, port) : Self.connect4(descriptor, port)
    guard result == 0 else { throw Failure(number: errno) }  // deinit closes
    // A timeout, so that a hanging test fails instead of waiting for ever.
    var limit = timeval(tv_sec: 20, tv_usec: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
  }

  deinit { close(descriptor) }

  private static func connect4(_ descriptor: Int32, _ port: UInt16) -> Int32 {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    return withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
  }

  private static func connect6(_ descriptor: Int32, _ port: UInt16) -> Int32 {
    var address = sockaddr_in6()
    address.sin6_family = sa_family_t(AF_INET6)
    address.sin6_port = port.bigEndian
    address.sin6_addr = in6addr_loopback
    return withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in6>.size))
      }
    }
  }

  func send(_ text: String) throws { try send(Array(text.utf8)) }

  /// Stops when the peer takes no more bytes: it may have answered already.
  func send(_ bytes: [UInt8]) throws {
    var sent = 0
    while sent < bytes.count {
      let count = bytes[sent...].withUnsafeBytes {
        Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
      }
      guard count > 0 else { return }
      sent += count
    }
  }

  func readToEnd() -> String { String(decoding: read(atLeast: .max), as: UTF8.self) }

  func read(atLeast wanted: Int) -> [UInt8] {
    var all: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 65_536)
    while all.count < wanted {
      let count = recv(descriptor, &chunk, chunk.count, 0)
      guard count > 0 else { break }
      all += chunk[..<count]
    }
    return all
  }
}
