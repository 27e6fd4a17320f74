import AgentServing
import Foundation
import Synchronization
import Testing

/// The reading thread on a real socket, with well-behaved and with hostile clients.
@Suite(.serialized) struct SocketTests {
  static let hello = hello(1)

  static func hello(_ id: Int) -> String {
    ConnectionTests.line(id, "agent.hello", #"{"client":{"name":"test","version":"1"}}"#)
  }

  /// Runs `body` on a separate thread against a new agent.
  func withAgent(
    _ limits: ServingLimits = ServingLimits(), _ body: @escaping @Sendable (ServedAgent) throws -> Void
  ) async throws {
    let served = try await ServedAgent(limits: limits)
    do {
      try await offPool { try body(served) }
    } catch {
      await served.shutDown()
      throw error
    }
    await served.shutDown()
  }

  // MARK: well-behaved clients

  @Test func requestsWholeCoalescedOrByteByByte_areAnswered() async throws {
    try await withAgent { served in
      let client = try served.client()
      client.send(Self.hello)
      #expect(client.answer()?.result["protocol"] as? String == "1")
      client.send((2..<50).map { Self.hello($0) }.joined())
      #expect((2..<50).map { _ in client.answer()?.id } == Array(2..<50))
      for byte in Self.hello(99).utf8 { client.send([byte]) }
      #expect(client.answer()?.id == 99)
    }
  }

  @Test func halfClosedClient_getsEveryAnswer() async throws {
    try await withAgent { served in
      for _ in 0..<20 {
        let client = try served.client()
        client.send((0..<100).map { $0 % 2 == 0 ? ConnectionTests.line($0, "agent.status") : Self.hello($0) }.joined())
        client.endInput()
        let (answers, ending) = client.rest()
        #expect(Set(answers.compactMap(\.id)) == Set(0..<100) && ending == .end)
        #expect(answers.allSatisfy { $0.code == 0 })
      }
    }
  }

  @Test func partialLastLine_isAParseError() async throws {
    try await withAgent { served in
      let client = try served.client()
      client.send(Self.hello + String(Self.hello.dropLast()))
      client.endInput()
      let (answers, ending) = client.rest()
      #expect(answers.map(\.code) == [0, -32700] && ending == .end)
    }
  }

  // MARK: bounds

  @Test func connectionOverTheLimit_isToldAndClosedCleanly() async throws {
    try await withAgent(ConnectionTests.limits(connections: 64)) { served in
      let clients = try (0..<64).map { _ in try served.client() }
      for client in clients {
        client.send(ConnectionTests.line(1, "event.subscribe"))
        #expect(client.answer()?.code == 0)
      }
      for greeting in ["", Self.hello, String(repeating: " ", count: 100_000)] {
        let late = try served.client()
        _ = late.sendWhatFits([UInt8](greeting.utf8))
        let (answers, ending) = late.rest()
        #expect(answers.map(\.code) == [1003] && answers[0].hasNullID && ending == .end)
        #expect(answers.first?.data["retryAfterMs"] as? Int ?? 0 > 0)
      }
      // The connected clients notice nothing.
      clients[63].send(Self.hello)
      #expect(clients[63].answer()?.code == 0)
    }
  }

  @Test func idleConnection_makesRoomAndIsClosedCleanly() async throws {
    try await withAgent(ConnectionTests.limits(connections: 8)) { served in
      let clients = try (0..<8).map { _ in try served.client() }
      for index in [3, 0, 1, 2, 4, 5, 6, 7] {
        clients[index].send(Self.hello)
        #expect(clients[index].answer()?.code == 0)
      }
      for evicted in [3, 0, 1] {
        let late = try served.client()
        late.send(ConnectionTests.line(1, "event.subscribe"))
        #expect(late.answer()?.code == 0)
        #expect(clients[evicted].rest().ending == .end)
        clients[2].send(Self.hello)
        #expect(clients[2].answer()?.code == 0)
        Self.kept.withLock { $0.append(late) }
      }
      Self.kept.withLock { $0 = [] }
    }
  }

  private static let kept = Mutex<[SocketClient]>([])

  /// All connections come from this process.
  @Test func processWith256Connections_makesRoomByItself() async throws {
    try await withAgent { served in
      let clients = try (0..<256).map { _ in try served.client() }
      for client in clients {
        client.send(Self.hello)
        #expect(client.answer()?.code == 0)
      }
      let late = try served.client()
      late.send(ConnectionTests.line(1, "agent.status"))
      #expect(late.answer()?.result["connections"] as? Int == 256)
      #expect(clients[0].rest().ending == .end)
      clients[1].send(Self.hello)
      #expect(clients[1].answer()?.code == 0)
    }
  }

  /// More than the agent queues for one connection: it reads no further, and serves others, until places are free.
  @Test func requestsOverTheWaitingBound_stayUnreadUntilThereIsRoom() async throws {
    try await withAgent { served in
      let greedy = try served.client()
      greedy.send(
        ConnectionTests.line(
          1, "provider.add",
          #"{"name":"idp","issuer":"http://127.0.0.1:1","clientId":"c","endpoints":"#
            + #"{"authorization":"http://127.0.0.1:1/a","token":"http://127.0.0.1:1/t"}}"#))
      #expect(greedy.answer()?.code == 0)
      greedy.send(ConnectionTests.line(2, "signIn.begin", #"{"provider":"idp","flow":"browser"}"#))
      let signIn = try #require(greedy.answer()?.result["signIn"] as? String)
      for id in 100..<228 { greedy.send(ConnectionTests.line(id, "signIn.wait", #"{"signIn":"\#(signIn)"}"#)) }
      let filler = String(repeating: " ", count: 60_000)
      let asked = (1000..<1100).map { ConnectionTests.line($0, "agent.status", "{\(filler)}") }.joined()
      let bytes = [UInt8](asked.utf8)
      var sent = 0
      // Until the agent has taken all that it takes.
      var idleRounds = 0
      while idleRounds < 50 {
        let taken = greedy.sendWhatFits(Array(bytes[sent...]))
        sent += taken
        idleRounds = taken == 0 ? idleRounds + 1 : 0
        try served.advance(seconds: 0)
      }
      #expect(sent > 1 << 20 && sent < 3 << 20)
      try served.advance(seconds: 60)
      let other = try served.client()
      other.send(Self.hello)
      #expect(other.answer()?.code == 0)
      other.send(ConnectionTests.line(3, "signIn.cancel", #"{"signIn":"\#(signIn)"}"#))
      #expect(other.answer()?.code == 0)
      let rest = Array(bytes[sent...])
      let writer = Thread { greedy.send(rest) }
      writer.start()
      var codes: [Int: Int] = [:]
      while codes.count < 228, let answer = greedy.answer(), let id = answer.id { codes[id] = answer.code }
      #expect((100..<228).allSatisfy { codes[$0] == 2007 } && (1000..<1100).allSatisfy { codes[$0] == 0 })
    }
  }

  @Test func closedConnections_releaseTheirPlaces() async throws {
    try await withAgent { served in
      for round in 0..<300 {
        let client = try served.client()
        client.send(ConnectionTests.line(round, "agent.status"))
        if round % 3 == 0 { #expect(client.answer()?.id == round) }
      }
      // The last connections may still be closing.
      var answer: Answer?
      for _ in 0..<100 where answer?.code != 0 {
        let client = try served.client()
        client.send(Self.hello)
        answer = client.answer()
      }
      #expect(answer?.code == 0)
    }
  }

  @Test(arguments: [70_000, 300_000, 3_000_000])
  func clientSendingAnOverlongLine_getsAnErrorAndIsClosedCleanly(length: Int) async throws {
    try await withAgent { served in
      let client = try served.client()
      client.send([UInt8](repeating: UInt8(ascii: " "), count: length))
      client.send("\n")
      let (answers, ending) = client.rest()
      #expect(answers.map(\.code) == [-32600] && ending == .end)
      #expect(answers.first?.data["limit"] as? Int == 65_536)
    }
  }

  // MARK: slow and greedy clients

  @Test func lineSentByteByByte_hasTenSeconds() async throws {
    try await withAgent { served in
      let client = try served.client()
      for byte in [UInt8](Self.hello.utf8).dropLast(30) {
        client.send([byte])
      }
      try served.advance(seconds: 0)  // everything has been read
      try served.advance(seconds: 9)
      client.send(" ")
      try served.advance(seconds: 2)
      let (answers, ending) = client.rest()
      #expect(answers.map(\.code) == [-32600] && ending == .end)
    }
  }

  /// Requests more output than the agent queues for one client, reads nothing for a minute, and then everything.
  @Test func slowReader_losesNoAnswer() async throws {
    try await withAgent { served in
      let slow = try served.client()
      let asked = (0..<400).map { ConnectionTests.line($0, "rpc.discover") }.joined()
      var sent = [UInt8](asked.utf8)[...]
      // As much as fits, which ends within a line.
      let fitted = slow.sendWhatFits(Array(sent))
      sent = sent.dropFirst(fitted)
      for _ in 0..<6 { try served.advance(seconds: 10) }
      let rest = Array(sent) + [UInt8](Self.hello(400).utf8)
      let writer = Thread { slow.send(rest) }
      writer.start()
      // The first document is read as JSON, and the others must be the same text: to read 400 takes half a minute.
      let beginning = #"{"jsonrpc":"2.0","id":"#
      var document: Substring?
      var answered: Set<Int> = []
      for _ in 0...400 {
        guard let line = slow.line(), line.hasPrefix(beginning) else { break }
        let rest = line.dropFirst(beginning.count)
        guard let id = Int(rest.prefix { $0 != "," }) else { break }
        answered.insert(id)
        let text = rest.drop { $0 != "," }
        if id < 400, let document {
          #expect(text == document)
        } else {
          let answer = Answer(line)
          #expect(answer.id == id && answer.code == 0)
          if id < 400 { document = text }
        }
      }
      #expect(answered.count == 401)
    }
  }

  /// The rest of the line arrives after reading resumed: the ten seconds count from then.
  @Test func lineInterruptedByAFullBacklog_hasTenSecondsAgain() async throws {
    try await withAgent { served in
      let slow = try served.client()
      // The answers exceed the output queue, so the line that begins after them is not read further.
      let lines = 5000
      slow.send(String(repeating: "x\n", count: lines) + "{")
      try served.advance(seconds: 0)
      slow.send("\"a\"")
      try served.advance(seconds: 60)
      for _ in 0..<lines { #expect(slow.answer()?.code == -32700) }
      try served.advance(seconds: 0)
      slow.send(":1")
      try served.advance(seconds: 9)
      slow.send("}\n")
      #expect(slow.answer()?.code == -32600)
      slow.send("{")
      try served.advance(seconds: 0)
      try served.advance(seconds: 10)
      #expect(slow.rest().ending == .end)
    }
  }

  /// Half a line, a full backlog and no reading: no deadline is set, so the reading thread sleeps.
  @Test func silentClientWithHalfALine_usesNoProcessorTime() async throws {
    try await withAgent { served in
      let silent = try served.client()
      let flood = [UInt8](String(repeating: "x\n", count: 200_000).utf8) + [UInt8]("{".utf8)
      _ = silent.sendWhatFits(flood)
      try served.advance(seconds: 60)
      let before = ProcessUsage.now
      usleep(300_000)
      #expect(ProcessUsage.now - before < 0.25)
      let other = try served.client()
      other.send(Self.hello)
      #expect(other.answer()?.code == 0)
    }
  }

  @Test func floodingClientThatNeverReads_delaysNoOtherClient() async throws {
    try await withAgent { served in
      let greedy = try served.client()
      let flood = [UInt8](
        String(repeating: Self.hello(1) + "x\n", count: 100_000).utf8.prefix(8 << 20))
      // The agent stops reading, so the sender's socket blocks long before 8 MB.
      #expect(greedy.sendWhatFits(flood) < 2 << 20)
      let other = try served.client()
      for id in 0..<100 {
        other.send(Self.hello(id))
        #expect(other.answer()?.id == id)
      }
    }
  }

  @Test func clientsThatDisconnectWithoutReading_harmNoOtherClient() async throws {
    try await withAgent { served in
      for _ in 0..<100 {
        let client = try served.client()
        client.send((0..<50).map { ConnectionTests.line($0, "rpc.discover") }.joined())
      }
      let other = try served.client()
      other.send(Self.hello)
      let answer = other.answer()
      #expect(answer?.code == 0 || answer?.code == 1003)
    }
  }

  // MARK: the end

  @Test func shutdown_answersRequestsInFlightAndEndsEveryStream() async throws {
    let served = try await ServedAgent()
    let clients = try await offPool { () -> [SocketClient] in
      let clients = try (0..<5).map { _ in try served.client() }
      for client in clients {
        client.send(Self.hello)
        #expect(client.answer()?.code == 0)
      }
      clients[0].send(ConnectionTests.line(9, "agent.shutdown"))
      #expect(clients[0].answer()?.id == 9)
      return clients
    }
    await served.shutDown()
    try await offPool { for client in clients { #expect(client.rest().ending == .end) } }
  }
}

/// Seconds of processor time that this process has used.
enum ProcessUsage {
  static var now: Double {
    var time = timespec()
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }
}
