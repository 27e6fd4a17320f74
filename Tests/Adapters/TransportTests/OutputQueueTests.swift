import AgentPorts
import Foundation
import JSONRPC
import Testing

import UnixTransport

/// Queued output leaves in order and complete, however little the descriptor takes at a time.
@Suite struct OutputQueueTests {
  static let pieces = ["[", "", "a document", String(repeating: "long ", count: 2000)].map { text in
    SharedBytes { writer in text.utf8.withContiguousStorageIfAvailable { writer.verbatim(UnsafeRawBufferPointer($0)) }
    }
  }

  /// One line, and its bytes.
  static func line(_ random: inout Seeded) -> (WireBytes, [UInt8]) {
    var writer = JSONWriter(capacity: 64)
    var said: [UInt8] = []
    for _ in 0..<Int.random(in: 0..<6, using: &random) {
      if Bool.random(using: &random) {
        let own = [UInt8](repeating: .random(in: 97...122, using: &random), count: .random(in: 0..<700, using: &random))
        own.withUnsafeBytes { writer.verbatim($0) }
        said += own
      } else {
        let piece = pieces.randomElement(using: &random)!
        writer.verbatim(piece)
        said += Array(piece.bytes)
      }
    }
    return (writer.finish(), said)
  }

  @Test(arguments: 0..<12 as Range<UInt64>)
  func queuedOutput_leavesInOrderInPartialWrites(seed: UInt64) throws {
    var random = Seeded(state: seed)
    var ends: [Int32] = [0, 0]
    try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
    defer { ends.forEach { close($0) } }
    var size: Int32 = 4096
    setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &size, socklen_t(MemoryLayout<Int32>.size))
    var queue = OutputQueue()
    var said: [UInt8] = []
    var read: [UInt8] = []
    func readSome(_ most: Int) {
      var buffer = [UInt8](repeating: 0, count: most)
      let count = recv(ends[1], &buffer, most, Int32(MSG_DONTWAIT))
      if count > 0 { read += buffer[..<count] }
    }
    for _ in 0..<300 {
      switch Int.random(in: 0..<3, using: &random) {
      case 0:
        let (line, bytes) = Self.line(&random)
        #expect(line.count == bytes.count)
        queue.append(line)
        said += bytes
      case 1:
        let piece = Bool.random(using: &random) ? Int.max : Int.random(in: 1..<5000, using: &random)
        #expect(queue.write(to: ends[0], isSocket: true, piece: piece) != .gone)
      default: readSome(.random(in: 1..<40_000, using: &random))
      }
    }
    while !queue.isEmpty {
      #expect(queue.write(to: ends[0], isSocket: true) != .gone)
      readSome(1 << 20)
    }
    readSome(1 << 20)
    #expect(read == said, "seed \(seed)")
    #expect(queue.count == 0)
  }

  @Test func referencedBytes_countAsWaiting() {
    var queue = OutputQueue()
    var writer = JSONWriter(capacity: 64)
    writer.verbatim(SharedBytes("0123456789"))
    writer.byte(0x0A)
    queue.append(writer.finish())
    #expect(queue.count == 11 && !queue.isEmpty)
  }

  private final class Kept: Sendable {}

  @Test func lineKeepsItsObject_untilItIsWritten() throws {
    var ends: [Int32] = [0, 0]
    try #require(pipe(&ends) == 0)
    defer { ends.forEach { close($0) } }
    var queue = OutputQueue()
    func line(_ bytes: Int, keeping kept: Kept?) -> WireBytes {
      var writer = JSONWriter(capacity: 64)
      writer.verbatim(SharedBytes("[]"))
      [UInt8](repeating: 97, count: bytes - 2).withUnsafeBytes { writer.verbatim($0) }
      if let kept { writer.kept.append(kept) }
      return writer.finish()
    }
    weak var first: Kept?
    weak var second: Kept?
    do {
      let (one, two) = (Kept(), Kept())
      (first, second) = (one, two)
      queue.append(line(100, keeping: nil))
      queue.append(line(1000, keeping: one))
      queue.append(line(100, keeping: two))
      queue.append(line(100, keeping: nil))
    }
    func write(_ count: Int) { _ = queue.write(to: ends[1], isSocket: false, piece: count) }
    write(1099)
    #expect(first != nil && queue.keepsObjects)
    write(1)
    #expect(first == nil && second != nil)
    write(99)
    #expect(second != nil)
    write(1)
    #expect(second == nil && !queue.keepsObjects && queue.count == 100)
  }

  /// A request of the client may hold its peer for long after the client has gone.
  @Test func answersOfAClientThatIsGone_keepNothing() throws {
    var ends: [Int32] = [0, 0]
    try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
    defer { ends.forEach { close($0) } }
    let peer = Peer(
      input: ends[0], output: ends[0], process: nil, isSocket: true, names: nil, announcements: Announcements())
    func answer(keeping object: Kept) -> WireBytes {
      var writer = JSONWriter(capacity: 64)
      [UInt8](repeating: 97, count: 1 << 20).withUnsafeBytes { writer.verbatim($0) }
      writer.kept.append(object)
      return writer.finish()
    }
    weak var unread: Kept?
    weak var late: Kept?
    do {
      let object = Kept()
      unread = object
      peer.send(answer(keeping: object))
    }
    #expect(unread != nil)
    peer.retire()
    #expect(unread == nil)
    do {
      let object = Kept()
      late = object
      peer.send(answer(keeping: object))
    }
    #expect(late == nil)
    #expect(peer.flush().isDone)
  }

  @Test func peer_tellsHowFarItWasWhenItIsRetired() throws {
    var ends: [Int32] = [0, 0]
    try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
    defer { ends.forEach { close($0) } }
    func peer() -> Peer {
      Peer(input: ends[0], output: ends[0], process: nil, isSocket: true, names: nil, announcements: Announcements())
    }
    let (open, closing) = (peer(), peer())
    closing.closeAfterFlush()
    #expect(open.retire() == .open)
    #expect(open.retire() == .gone)
    #expect(closing.flush().isDone)
    #expect(closing.retire() == .closing)
  }

  @Test func lineOfABatch_keepsTheObjectsOfItsParts() {
    weak var kept: Kept?
    var writer = JSONWriter(capacity: 64)
    do {
      let object = Kept()
      kept = object
      var part = JSONWriter(capacity: 64)
      part.integer(1)
      part.kept.append(object)
      writer.beginArray()
      writer.raw(part.finish())
      writer.endArray()
    }
    let line: WireBytes? = writer.finish()
    #expect(line?.kept.count == 1 && kept != nil)
  }

  struct Seeded: RandomNumberGenerator {
    var state: UInt64
    mutating func next() -> UInt64 {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return state ^ (state >> 29)
    }
  }
}
