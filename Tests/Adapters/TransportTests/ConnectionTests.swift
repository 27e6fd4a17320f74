import AgentPorts
import AgentModel
import Foundation
import Testing

/// A connection fed with bytes, without any transport.
@Suite struct ConnectionTests {
  static func line(_ id: Int, _ method: String, _ params: String = "{}") -> String {
    "{\"jsonrpc\":\"2.0\",\"id\":\(id),\"method\":\"\(method)\",\"params\":\(params)}\n"
  }

  /// A request that stays in flight: a sign-in that is never completed.
  static func beginWaiting(_ client: RecordedClient, id: Int = 7) async throws {
    let seen = client.lines.count
    client.send(
      line(
        1, "provider.add",
        #"{"name":"idp\#(id)","issuer":"http://127.0.0.1:1","clientId":"c","endpoints":"#
          + #"{"authorization":"http://127.0.0.1:1/a","token":"http://127.0.0.1:1/t"}}"#))
    await client.waitForLines(seen + 1)
    client.send(line(2, "signIn.begin", #"{"provider":"idp\#(id)","flow":"browser"}"#))
    await client.waitForLines(seen + 2)
    let signIn = try #require(client.objects.last?.result["signIn"] as? String)
    client.send(line(id, "signIn.wait", #"{"signIn":"\#(signIn)"}"#))
  }

  // MARK: long lines

  @Test(arguments: [70_000, 131_072, 1_000_000])
  func longLineWithItsMethodLast_isRefused(length: Int) async throws {
    let agent = try await AgentUnderTest()
    let client = try RecordedClient(agent)
    let filler = String(repeating: "a", count: length)
    client.send(#"{"jsonrpc":"2.0","id":1,"params":{"x":"\#(filler)"},"method":"token.get"}"# + "\n", piece: 65_536)
    let answer = try #require(client.objects.first)
    #expect(client.lines.count == 1 && answer.code == -32600 && answer.hasNullID)
    #expect(answer.data["limit"] as? Int == 65_536)
    #expect(client.isClosed)
    await agent.shutDown()
  }

  /// Known before the line ends.
  @Test(arguments: ["x", "1", " ", "\"", "{}"])
  func longLineThatCanBecomeNoRequest_isRefusedAtTheLimit(text: String) async throws {
    let agent = try await AgentUnderTest()
    let client = try RecordedClient(agent)
    client.send(text + String(repeating: text == "{}" ? " " : text, count: 65_536))
    #expect(client.objects.map(\.code) == [-32600] && client.isClosed)
    await agent.shutDown()
  }

  @Test(arguments: [1000, 65_536, Int.max])
  func longLineThatIsNotJSON_isRefused(piece: Int) async throws {
    let agent = try await AgentUnderTest()
    let client = try RecordedClient(agent)
    client.send(String(repeating: "x", count: 70_000) + "\n", piece: piece)
    #expect(client.objects.map(\.code) == [-32600] && client.isClosed)
    await agent.shutDown()
  }

  @Test func lineOfExactlyTheLimit_isServed() async throws {
    let agent = try await AgentUnderTest()
    let client = try RecordedClient(agent)
    let head = #"{"jsonrpc":"2.0","id":1,"method":"agent.hello","params":{"client":{"name":"t","version":"1"}}"#
    for (ending, piece) in [("\n", Int.max), ("\r\n", Int.max), ("\n", 65_536), ("\r\n", 65_537)] {
      let before = client.lines.count
      client.send(head + String(repeating: " ", count: 65_536 - head.utf8.count - 1) + "}" + ending, piece: piece)
      #expect(client.objects.dropFirst(before).map(\.code) == [0])
    }
    client.send(head + String(repeating: " ", count: 65_536 - head.utf8.count) + "}\n")
    #expect(client.objects.last?.code == -32600 && client.isClosed)
    await agent.shutDown()
  }

  /// Scanned again at each byte, a line like this would take minutes.
  @Test func longLineByteByByte_isScannedInLinearTime() async throws {
    let agent = try await AgentUnderTest()
    let client = try RecordedClient(agent)
    let began = ContinuousClock.now
    client.send(#"{"params":{"x":""#)
    client.send([UInt8](repeating: UInt8(ascii: "a"), count: 400_000), piece: 1)
    #expect(client.lines.isEmpty && !client.isClosed)
    #expect(ContinuousClock.now - began < .seconds(20))
    client.send([UInt8](repeating: UInt8(ascii: "a"), count: 1 << 20))
    #expect(client.objects.map(\.code) == [-32600] && client.isClosed)
    await agent.shutDown()
  }

  // MARK: slow lines

  @Test func unfinishedLine_isReportedOnceAfterTenSecondsAndClosed() async throws {
    let agent = try await AgentUnderTest()
    let client = try RecordedClient(agent)
    #expect(client.talk.lineDeadline == nil)
    for byte in Self.line(1, "agent.hello").utf8.dropLast(40) {
      client.send([byte])
      #expect(client.talk.lineDeadline == BootInstant(milliseconds: 1_010_000))  // from the first byte
    }
    agent.clock.advance(seconds: 10)
    client.talk.lineTimedOut()
    #expect(client.objects.map(\.code) == [-32600] && client.isClosed)
    // Reported once; otherwise the reading thread would report it for ever.
    #expect(client.talk.lineDeadline == nil)
    await agent.shutDown()
  }

  @Test func eachLine_hasItsOwnTenSeconds() async throws {
    let agent = try await AgentUnderTest()
    let client = try RecordedClient(agent)
    client.send("{")
    agent.clock.advance(seconds: 9)
    client.send("}\n[")
    #expect(client.talk.lineDeadline == BootInstant(milliseconds: 1_019_000))
    client.send("]\n")
    #expect(client.talk.lineDeadline == nil && client.objects.map(\.code) == [-32600, -32600])
    await agent.shutDown()
  }

  @Test func overlongLine_leavesNoDeadline() async throws {
    let agent = try await AgentUnderTest()
    let client = try RecordedClient(agent)
    client.send("[")
    client.send([UInt8](repeating: UInt8(ascii: " "), count: 1 << 20))
    #expect(client.isClosed && client.talk.lineDeadline == nil)
    await agent.shutDown()
  }

  // MARK: requests in flight

  @Test func idInFlight_isRefusedForAnyOtherMethod() async throws {
    let agent = try await AgentUnderTest()
    let client = try RecordedClient(agent)
    try await Self.beginWaiting(client)
    for method in ["agent.hello", "signIn.wait", "no.such"] {
      let before = client.lines.count
      client.send(Self.line(7, method))
      let answer = try #require(client.objects.dropFirst(before).first)
      #expect(answer.code == -32600 && answer.hasNullID && answer.data["duplicateId"] as? Bool == true)
    }
    client.send(#"{"jsonrpc":"2.0","method":"$/cancel","params":{"id":7}}"# + "\n")
    await client.waitForLines(6)
    #expect(client.objects.last?.code == 1004 && client.objects.last?.id == 7)
    await agent.shutDown()
  }

  @Test func requestNumber129_isRefusedAsOverloaded() async throws {
    let agent = try await AgentUnderTest()
    let client = try RecordedClient(agent)
    try await Self.beginWaiting(client, id: 100)
    let signIn = try #require(client.objects[1].result["signIn"] as? String)
    let before = client.lines.count
    for id in 101..<228 { client.send(Self.line(id, "signIn.wait", #"{"signIn":"\#(signIn)"}"#)) }
    #expect(client.lines.count == before)
    client.send(Self.line(300, "agent.status"))
    #expect(client.objects.last?.code == 1003 && client.objects.last?.id == 300)
    #expect(client.objects.last?.data["retryAfterMs"] as? Int ?? 0 > 0)
    client.send(Self.line(3, "signIn.cancel", #"{"signIn":"\#(signIn)"}"#))
    #expect(client.objects.last?.code == 1003)  // it needs a slot too
    client.send(#"{"jsonrpc":"2.0","method":"$/cancel","params":{"id":150}}"# + "\n")
    await client.waitForLines(before + 3)
    #expect(client.objects.last?.id == 150 && client.objects.last?.code == 1004)
    // The answer goes out just before the slot is released.
    var tries = 0
    repeat {
      client.send(Self.line(400 + tries, "signIn.cancel", #"{"signIn":"\#(signIn)"}"#))
      tries += 1
      await client.waitForLines(before + 3 + tries)
      await Task.yield()
    } while tries < 1000 && client.objects.last?.code == 1003
    await client.waitForLines(before + 3 + tries + 127)
    #expect(client.objects.count { $0.code == 2007 } == 127)
    await agent.shutDown()
  }

  @Test func halfClosedClient_getsItsPendingAnswers() async throws {
    let agent = try await AgentUnderTest()
    let client = try RecordedClient(agent)
    try await Self.beginWaiting(client)
    client.send("{\"id\":")
    client.talk.endOfInput()
    #expect(client.objects.last?.code == -32700 && !client.isClosed)
    let other = try RecordedClient(agent)
    let signIn = try #require(client.objects[1].result["signIn"] as? String)
    other.send(Self.line(1, "signIn.cancel", #"{"signIn":"\#(signIn)"}"#))
    await client.waitForLines(4)
    #expect(client.objects.last?.code == 2007 && client.objects.last?.id == 7)
    // The answer is queued before the connection begins to close.
    for _ in 0..<1_000_000 where !client.isClosed { await Task.yield() }
    #expect(client.isClosed)
    await agent.shutDown()
  }

  @Test func halfClosedClientWithoutARequest_isClosedAtOnce() async throws {
    let agent = try await AgentUnderTest()
    let client = try RecordedClient(agent)
    client.send(" \r")
    client.talk.endOfInput()
    #expect(client.isClosed && client.lines.isEmpty)
    await agent.shutDown()
  }

  @Test func shutdown_answersEveryPendingRequest() async throws {
    let agent = try await AgentUnderTest()
    let client = try RecordedClient(agent)
    try await Self.beginWaiting(client)
    await agent.shutDown()
    await client.waitForLines(3)
    #expect(client.objects.last?.id == 7 && client.objects.last?.code != 0)
    client.send(Self.line(9, "agent.status"))
    #expect(client.objects.last?.code == 1002 && client.objects.last?.id == 9)
  }

  // MARK: connection limit

  @Test func connectionNumber65_isRefused() async throws {
    let agent = try await AgentUnderTest()
    var clients = try (0..<64).map { _ in try RecordedClient(agent) }
    #expect(throws: RecordedClient.NoPlace.self) { try RecordedClient(agent) }
    clients[10].talk.ended()
    clients[10] = try RecordedClient(agent)
    #expect(throws: RecordedClient.NoPlace.self) { try RecordedClient(agent) }
    await agent.shutDown()
  }
}
