import AgentModel
import AgentSimulation
import PracticeProvider
import Testing

/// Guarantees to every client, in any schedule.
@Suite struct ConversationTests {
  static let seeds: ClosedRange<UInt64> = 1...40

  /// Calls, cancellations and bytes in odd chunks: each request gets one answer, and no other line comes.
  @Test func everyRequest_isAnsweredExactlyOnce() throws {
    for seed in Self.seeds {
      try SimulatedWorld(seed: seed).run { world in
        let idp = try await world.provider("idp")
        try await world.signIn("alice", at: idp, alias: "work")
        await world.clock.sleep(for: .seconds(2400))
        let chance = SeededEntropy(seed: seed &* 7919)
        let client = try world.client()
        let methods = [
          #""token.get","params":{"account":"work"}"#, #""token.refresh","params":{"account":"work"}"#,
          #""account.list","params":{}"#, #""agent.status""#, #""session.get","params":{"account":"work"}"#,
          #""token.get","params":{"account":"nobody"}"#, #""no.such.method""#,
        ]
        var bytes: [UInt8] = []
        for id in 1...60 {
          let method = methods[Int(chance.number(in: 0...Int64(methods.count - 1)))]
          bytes += Array(#"{"jsonrpc":"2.0","id":"r\#(id)","method":\#(method)}"#.utf8) + [0x0A]
          if chance.number(in: 0...4) == 0 {
            let other = chance.number(in: 1...Int64(id))
            bytes += Array(#"{"jsonrpc":"2.0","method":"$/cancel","params":{"id":"r\#(other)"}}"#.utf8) + [0x0A]
          }
        }
        while !bytes.isEmpty {
          let count = min(bytes.count, Int(chance.number(in: 1...300)))
          client.write(Array(bytes.prefix(count)))
          bytes.removeFirst(count)
          if chance.number(in: 0...3) == 0 { await world.clock.sleep(for: Milliseconds(chance.number(in: 0...30))) }
        }
        await world.clock.sleep(for: .seconds(60))
        let ids = client.takeLines().compactMap { PracticeJSON(line: Array($0.utf8))?["id"]?.stringValue }
        #expect(ids.sorted() == (1...60).map { "r\($0)" }.sorted(), "seed \(seed)")
      }
    }
  }

  /// A request sent after an answer gets no older token than that answer named, on any connection.
  @Test func tokenGeneration_neverGoesBack() throws {
    for seed in Self.seeds {
      try SimulatedWorld(seed: seed).run { world in
        let idp = try await world.provider("idp")
        try await world.signIn("alice", at: idp, alias: "work")
        let clients = try (0..<3).map { _ in try world.client() }
        let newest = Newest()
        await withDiscardingTaskGroup { group in
          for (number, client) in clients.enumerated() {
            group.addTask {
              let chance = SeededEntropy(seed: seed &+ UInt64(number) &* 101)
              for _ in 0..<15 {
                let known = newest.value
                let method = chance.number(in: 0...3) == 0 ? "token.refresh" : "token.get"
                let answer = await client.call(method, #"{"account":"work"}"#)
                let generation = answer.result?["generation"]?.integerValue ?? -1
                #expect(generation >= known, "seed \(seed): \(answer)")
                newest.raise(to: generation)
                await world.clock.sleep(for: Milliseconds(chance.number(in: 0...60_000)))
              }
            }
          }
        }
      }
    }
  }

  @Test func requestsOverTheLimit_waitForTheirPlacesAndOthersAreServed() throws {
    try SimulatedWorld(seed: 1).run { world in
      let idp = try await world.provider("idp")
      try await world.signIn("alice", at: idp, alias: "work")
      await world.clock.sleep(for: .seconds(2400))
      let gate = Gate()
      world.network.next("/token", .heldBefore(gate))
      let client = try world.client()
      let requests = (0..<130).map { _ in client.send("token.get", #"{"account":"work"}"#) }
      let status = client.send("agent.status")
      client.cancel(requests[129])
      #expect(await client.answer(to: requests[129]).code == 1004, "cancelled while it waits")
      #expect(try await world.client().call("agent.status").error == nil, "other clients do not wait")
      #expect(client.takeLines().count == 1, "no place is free")
      gate.open()
      for request in requests.prefix(129) { #expect(await client.answer(to: request).error == nil) }
      #expect(await client.answer(to: status).error == nil)
    }
  }

  @Test func connectionsOverTheLimit_takeThePlacesOfIdleOnesOrAreRefused() throws {
    try SimulatedWorld(seed: 1).run { world in
      var clients = try (0..<1024).map { _ in try world.client() }
      #expect(await clients[0].call("agent.status").result?["connections"]?.integerValue == 1024)
      let late = try world.client()
      #expect(clients[1].isClosed && clients.count(where: \.isClosed) == 1)
      clients[1] = late
      for client in clients { #expect(await client.call("event.subscribe").error == nil) }
      #expect(throws: SceneFailed.self) { try world.client() }
      clients.removeLast().disconnect()
      #expect(try await world.client().call("agent.status").error == nil)
      #expect(await clients[0].call("agent.status").error == nil)
    }
  }

  /// One account is asked for more audiences than it caches: all are answered, the first ones refreshed again.
  @Test func manyAudiencesOfOneAccount_areAllAnswered() throws {
    try SimulatedWorld(seed: 1).run { world in
      let idp = try await world.provider("idp")
      try await world.signIn("alice", at: idp, alias: "work")
      let client = try world.client()
      func resource(_ number: Int) -> String { #"{"account":"work","resource":"https://r\#(number).example/"}"# }
      for number in 0..<100 {
        let answer = await client.call("token.get", resource(number))
        #expect(answer["source"] == "refreshed", "\(answer)")
      }
      #expect(await client.call("token.get", resource(99))["source"] == "cache")
      #expect(await client.call("token.get", resource(0))["source"] == "refreshed")
      #expect(await client.call("token.get", #"{"account":"work"}"#)["source"] == "cache")
    }
  }

  @Test func halfClosedClient_getsItsPendingAnswer() throws {
    for seed in Self.seeds {
      try SimulatedWorld(seed: seed).run { world in
        let idp = try await world.provider("idp")
        try await world.signIn("alice", at: idp, alias: "work")
        await world.clock.sleep(for: .seconds(2400))
        let client = try world.client()
        let request = client.send("token.get", #"{"account":"work"}"#)
        client.endOfInput()
        #expect(await client.answer(to: request)["source"] == "refreshed", "seed \(seed)")
        await world.clock.sleep(for: .seconds(1))
        #expect(client.isClosed, "seed \(seed)")
      }
    }
  }
}
