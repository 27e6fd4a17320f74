import Glibc
import ProxyCore
import Secrets
import StreamingHTTP
import TLSServing
import Threads

/// Moves the messages of an open WebSocket. Those of the server are looked into; the program's go on as they are.
struct WebSocketRelay: ~Copyable {
  /// Bytes that one end has yet to take.
  private struct Waiting {
    var bytes: [UInt8] = []
    var start = 0
    var isEmpty: Bool { start == bytes.count }

    mutating func add(_ more: some Sequence<UInt8>) {
      if isEmpty { (bytes, start) = ([], 0) }
      bytes += more
    }
  }

  private let client: ClientStream
  private let server: OpenConnection
  private var watch: WebSocketWatch
  private var toServer = Waiting()
  private var toClient = Waiting()
  private var clientHasEnded = false
  private var serverHasEnded = false

  /// Where no byte moves for so long, both ends are let go: most programs send a ping each minute.
  private static let idleMilliseconds: Int32 = 3_600_000

  init(client: ClientStream, server: OpenConnection, tokens: [Secret]) {
    self.client = client
    self.server = server
    watch = WebSocketWatch { TokenWatch(tokens) }
  }

  /// Runs until an end closes.
  ///
  /// - Parameter first: what the server sent behind its answer.
  /// - Returns: why the WebSocket was cut off; nil for an end in order.
  mutating func run(_ first: [UInt8], _ cancellation: HTTPCancellation) -> Refusal? {
    let wakeUp = WakeUp()
    cancellation.attach(wakeUp)
    defer { cancellation.attach(nil) }
    if let refusal = first.withUnsafeBytes({ take($0) }) { return refusal }
    var piece = [UInt8](repeating: 0, count: 64 << 10)
    while !cancellation.isCancelled {
      var hasMoved = false
      // One direction waits as long as its target has not taken what was read.
      if toServer.isEmpty, !clientHasEnded {
        switch piece.withUnsafeMutableBytes({ client.read(into: $0) }) {
        case .bytes(let count):
          toServer.add(piece[..<count])
          hasMoved = true
        case .later: break
        case .end, .failed: clientHasEnded = true
        }
      }
      if toClient.isEmpty, !serverHasEnded {
        switch piece.withUnsafeMutableBytes({ server.read(into: $0) }) {
        case .bytes(let count):
          if let refusal = piece[..<count].withUnsafeBytes({ take($0) }) { return refusal }
          hasMoved = true
        case .later: break
        case .end, .failed: serverHasEnded = true
        }
      }
      guard let given = give() else { return nil }
      // After the end of one side, what waits for the other still goes.
      if clientHasEnded && toServer.isEmpty || serverHasEnded && toClient.isEmpty { return nil }
      if !hasMoved, !given, !wait(wakeUp) { return nil }
    }
    return nil
  }

  private mutating func take(_ bytes: UnsafeRawBufferPointer) -> Refusal? {
    var found: [UInt8] = []
    let outcome = watch.pass(bytes) { frame in
      found += frame
      return true
    }
    toClient.add(found)
    switch outcome {
    case .passed, .notTaken: return nil
    case .repeatsToken: return ResponseRelay.repeated
    case .malformed:
      return Refusal(502, "malformedResponse", "The server's messages can't be passed on: a frame is malformed.")
    }
  }

  /// True if an end took something; nil if one is gone.
  private mutating func give() -> Bool? {
    var hasMoved = false
    if !toServer.isEmpty {
      switch toServer.bytes[toServer.start...].withUnsafeBytes({ server.write($0) }) {
      case .bytes(let count):
        toServer.start += count
        hasMoved = true
      case .later: break
      case .end, .failed: return nil
      }
    }
    if !toClient.isEmpty {
      switch toClient.bytes[toClient.start...].withUnsafeBytes({ client.writeOnce($0) }) {
      case .bytes(let count):
        toClient.start += count
        hasMoved = true
      case .wantsRead, .wantsWrite: break
      case .closed, .failed: return nil
      }
    }
    return hasMoved
  }

  /// Waits for an end that goes on. False after a long time without one.
  private func wait(_ wakeUp: WakeUp) -> Bool {
    func events(_ reads: Bool, _ writes: Bool) -> Int16 { Int16((reads ? POLLIN : 0) | (writes ? POLLOUT : 0)) }
    var entries = [
      pollfd(fd: client.socket, events: events(toServer.isEmpty && !clientHasEnded, !toClient.isEmpty), revents: 0),
      pollfd(fd: server.socket, events: events(toClient.isEmpty && !serverHasEnded, !toServer.isEmpty), revents: 0),
      pollfd(fd: wakeUp.descriptor, events: Int16(POLLIN), revents: 0),
    ]
    for index in 0..<2 where entries[index].events == 0 { entries[index].fd = -1 }
    let count = poll(&entries, 3, Self.idleMilliseconds)
    return count > 0 || count < 0 && errno == EINTR
  }
}
