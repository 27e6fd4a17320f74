import AgentPorts
import AgentModel
import AgentServing
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

  /// 128 requests that wait for one sign-in, so that the next request has no place. Returns the sign-in.
  static func fill(_ client: RecordedClient) async throws -> String {
    try await beginWaiting(client, id: 100)
    let signIn = try #require(client.objects[1].result["signIn"] as? String)
    for id in 101..<228 { client.send(line(id, "signIn.wait", #"{"signIn":"\#(signIn)"}"#)) }
    #expect(client.lines.count == 2)
    return signIn
  }

  private static func cancel(_ id: Int) -> String {
    #"{"jsonrpc":"2.0","method":"$/cancel","params":{"id":\#(id)}}"# + "\n"
  }

  @Test func requestNumber129_waitsForAPlace() async throws {
    let agent = try await AgentUnderTest()
    let client = try RecordedClient(agent)
    let signIn = try await Self.fill(client)
    let hello = #"{"client":{"name":"t","version":"1"}}"#
    for id in 300..<310 { client.send(Self.line(id, "agent.hello", hello)) }
    // Wrong params and unknown methods need no place.
    client.send(Self.line(400, "agent.hello") + Self.line(401, "no.such"))
    #expect(client.objects.dropFirst(2).map(\.code) == [-32602, -32601])
    client.send(Self.cancel(150))
    await client.waitForLines(15)
    #expect(client.objects[4].id == 150 && client.objects[4].code == 1004)
    #expect(client.objects[5...].map(\.id) == Array(300..<310), "in their order")
    #expect(client.objects[5...].allSatisfy { $0.code == 0 })
    // The sign-in ends for all: what would end it needs a place, too.
    client.send(Self.line(500, "agent.hello", hello) + Self.line(501, "signIn.cancel", #"{"signIn":"\#(signIn)"}"#))
    await client.waitForLines(15 + 127 + 2)
    #expect(client.objects.count { $0.code == 2007 } == 127)
    await agent.shutDown()
  }

  @Test func waitingRequest_isCancelledAtOnce() async throws {
    let agent = try await AgentUnderTest()
    let client = try RecordedClient(agent)
    _ = try await Self.fill(client)
    client.send(Self.line(300, "agent.status") + Self.line(301, "agent.status") + Self.line(300, "agent.status"))
    #expect(client.objects.dropFirst(2).map(\.code) == [-32600], "an id that waits is in flight")
    client.send(Self.cancel(301) + Self.cancel(301))
    #expect(client.objects.dropFirst(3).map(\.id) == [301] && client.objects.last?.code == 1004)
    client.send(Self.line(301, "agent.hello", #"{"client":{"name":"t","version":"1"}}"#))
    client.send(Self.cancel(100))
    await client.waitForLines(7)
    #expect(Set(client.objects[4...].compactMap(\.id)) == [100, 300, 301])
    await agent.shutDown()
  }

  /// A client that asks to be limited is limited, also if it takes that back.
  @Test func waitingHelloWithAGrant_isServedAlthoughItIsCancelled() async throws {
    let agent = try await AgentUnderTest()
    let client = try RecordedClient(agent)
    _ = try await Self.fill(client)
    client.send(
      Self.line(300, "agent.hello", #"{"client":{"name":"t","version":"1"},"grant":"no such grant"}"#)
        + Self.line(301, "account.list") + Self.cancel(300) + Self.cancel(101))
    await client.waitForLines(5)
    #expect(client.objects[2...].map(\.code) == [1004, 1007, 1007] && client.objects[3].id == 300)
    await agent.shutDown()
  }

  @Test func waitingLinesOverTheirBound_stopTheReading() async throws {
    let agent = try await AgentUnderTest()
    let client = try RecordedClient(agent)
    _ = try await Self.fill(client)
    let filler = String(repeating: " ", count: 60_000)
    for id in 300..<317 { client.send(Self.line(id, "agent.status", "{\(filler)}")) }
    #expect(client.talk.hasRoom && client.resumed == 0)
    client.send(Self.line(317, "agent.status", "{\(filler)}"))
    #expect(!client.talk.hasRoom)
    client.send(Self.cancel(100))
    // One place is enough for all that wait.
    await client.waitForLines(2 + 1 + 18)
    #expect(client.talk.hasRoom && client.resumed == 1)
    #expect(client.objects[3...].map(\.id) == Array(300..<318))
    await agent.shutDown()
  }

  @Test func shortLines_countAsMuchAsTheirRequests() async throws {
    let agent = try await AgentUnderTest()
    let client = try RecordedClient(agent)
    _ = try await Self.fill(client)
    for id in 0..<4096 {
      #expect(client.talk.hasRoom)
      client.send(Self.line(1000 + id, "agent.status"))
    }
    #expect(!client.talk.hasRoom)
    client.talk.ended()
    await agent.shutDown()
  }

  @Test func batchOver128Members_isAnsweredWhole() async throws {
    let agent = try await AgentUnderTest()
    let client = try RecordedClient(agent)
    let members = (0..<500).map { Self.line($0, "agent.status").dropLast() }.joined(separator: ",")
    client.send("[\(members)]\n")
    await client.waitForLines(1)
    let answers = try #require(
      try JSONSerialization.jsonObject(with: Data(client.lines[0].utf8)) as? [[String: Any]])
    #expect(answers.compactMap { $0["id"] as? Int } == Array(0..<500))
    #expect(answers.allSatisfy { $0["result"] != nil })
    await agent.shutDown()
  }

  @Test func halfClosedClient_getsTheAnswersOfItsWaitingRequests() async throws {
    let agent = try await AgentUnderTest()
    let client = try RecordedClient(agent)
    let signIn = try await Self.fill(client)
    for id in 300..<310 { client.send(Self.line(id, "agent.status")) }
    client.talk.endOfInput()
    #expect(!client.isClosed)
    let other = try RecordedClient(agent)
    other.send(Self.line(1, "signIn.cancel", #"{"signIn":"\#(signIn)"}"#))
    await client.waitForLines(2 + 128 + 10)
    #expect(Set(client.objects.compactMap(\.id)).isSuperset(of: 300..<310))
    for _ in 0..<1_000_000 where !client.isClosed { await Task.yield() }
    #expect(client.isClosed)
    await agent.shutDown()
  }

  @Test func shutdown_answersEveryWaitingRequest() async throws {
    let agent = try await AgentUnderTest()
    let client = try RecordedClient(agent)
    _ = try await Self.fill(client)
    for id in 300..<310 { client.send(Self.line(id, "agent.status")) }
    await agent.shutDown()
    await client.waitForLines(2 + 128 + 10)
    #expect(client.objects.filter { (300..<310).contains($0.id ?? 0) }.map(\.code) == Array(repeating: 1002, count: 10))
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

  static func limits(connections: Int) -> ServingLimits {
    var limits = ServingLimits()
    limits.connections = connections
    return limits
  }

  @Test func connectionOverTheLimit_takesThePlaceOfTheOneIdleLongest() async throws {
    let agent = try await AgentUnderTest(limits: Self.limits(connections: 4))
    let clients = try (0..<4).map { _ in try RecordedClient(agent) }
    for index in [2, 0, 3, 1] { clients[index].send(Self.line(1, "event.unsubscribe")) }
    _ = try RecordedClient(agent)
    #expect(clients.map(\.isClosed) == [false, false, true, false])
    // Bytes that are no whole line yet are a use.
    clients[0].send(" ")
    _ = try RecordedClient(agent)
    #expect(clients.map(\.isClosed) == [false, false, true, true])
    // The transport tells later that it has closed them: they count no more.
    clients[2].talk.ended()
    clients[3].talk.ended()
    _ = try RecordedClient(agent)
    #expect(clients.map(\.isClosed) == [false, true, true, true])
    await agent.shutDown()
  }

  @Test func connectionsWithWorkOrASubscription_keepTheirPlaces() async throws {
    let agent = try await AgentUnderTest(limits: Self.limits(connections: 2))
    var clients = try (0..<2).map { _ in try RecordedClient(agent) }
    clients[0].send(Self.line(1, "event.subscribe"))
    try await Self.beginWaiting(clients[1])
    #expect(throws: RecordedClient.NoPlace.self) { try RecordedClient(agent) }
    #expect(throws: RecordedClient.NoPlace.self) { try RecordedClient(agent) }
    clients[0].talk.ended()
    clients[0] = try RecordedClient(agent)
    #expect(!clients[1].isClosed)
    await agent.shutDown()
  }
}
