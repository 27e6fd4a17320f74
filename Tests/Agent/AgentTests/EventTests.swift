import AgentModel
import AgentSimulation
import PracticeProvider
import Testing

/// Events come in one order without gaps, or report the gap.
@Suite struct EventTests {
  private static func sequences(_ client: SimulatedClient) -> [Int64] {
    client.events.compactMap { $0["sequence"]?.integerValue }
  }

  @Test func everySubscriber_seesEventsInTheSameOrder() throws {
    for seed in 1...30 as ClosedRange<UInt64> {
      try SimulatedWorld(seed: seed).run { world in
        let idp = try await world.provider("idp")
        let watchers = try (0..<3).map { _ in try world.client() }
        for watcher in watchers { _ = await watcher.call("event.subscribe") }
        try await world.signIn("alice", at: idp, alias: "work")
        try await world.signIn("bob", at: idp, alias: "home")
        let client = try world.client()
        let requests = [
          client.send("token.refresh", #"{"account":"work"}"#), client.send("token.refresh", #"{"account":"home"}"#),
          client.send("account.switch", #"{"account":"home"}"#),
          client.send("account.rename", #"{"account":"home","alias":"private"}"#),
        ]
        for request in requests { _ = await client.answer(to: request) }
        await world.clock.sleep(for: .seconds(1))
        let seen = Self.sequences(watchers[0])
        #expect(seen == Array(1...Int64(seen.count)), "seed \(seed): \(seen)")
        #expect(seen.count >= 6, "seed \(seed)")
        for watcher in watchers { #expect(Self.sequences(watcher) == seen, "seed \(seed)") }
      }
    }
  }

  @Test func reconnectedSubscriber_getsExactlyTheMissedEvents() throws {
    try SimulatedWorld(seed: 3).run { world in
      let idp = try await world.provider("idp")
      let first = try world.client()
      let started = await first.call("event.subscribe")
      let epoch = try #require(started["epoch"])
      try await world.signIn("alice", at: idp, alias: "work")
      let last = try #require(Self.sequences(first).last)
      first.disconnect()
      for _ in 0..<3 {
        _ = try await world.client().call("token.refresh", #"{"account":"work"}"#)
      }
      let again = try world.client()
      let resumed = await again.call(
        "event.subscribe", #"{"since":{"epoch":"\#(epoch)","sequence":\#(last)}}"#)
      #expect(resumed.result?["gap"]?.boolValue == false)
      #expect(Self.sequences(again) == [last + 1, last + 2, last + 3])

      // A restarted agent does not know the events of the run before.
      try await world.restart()
      let later = try await world.client().call(
        "event.subscribe", #"{"since":{"epoch":"\#(epoch)","sequence":\#(last)}}"#)
      #expect(later.result?["gap"]?.boolValue == true)
      #expect(later["epoch"] != epoch)
    }
  }

  @Test func subscriberThatDoesNotRead_getsAGapEvent() throws {
    try SimulatedWorld(seed: 4).run { world in
      let idp = try await world.provider("idp")
      try await world.signIn("alice", at: idp, alias: "work")
      let watcher = try world.client()
      _ = await watcher.call("event.subscribe")
      let client = try world.client()
      watcher.readsEvents = false
      for _ in 0..<3 { _ = await client.call("token.refresh", #"{"account":"work"}"#) }
      #expect(watcher.events.isEmpty)
      watcher.readsEvents = true
      _ = await client.call("token.refresh", #"{"account":"work"}"#)
      let types = watcher.events.map { $0["type"]?.stringValue }
      #expect(types == ["event.gap", "token.refreshed"], "\(types)")
    }
  }

  @Test func subscription_receivesEventsOfItsAccountsOnly() throws {
    try SimulatedWorld(seed: 5).run { world in
      let idp = try await world.provider("idp")
      let work = try await world.signIn("alice", at: idp, alias: "work")
      try await world.signIn("bob", at: idp, alias: "home")
      let watcher = try world.client()
      _ = await watcher.call("event.subscribe", #"{"accounts":["work"],"types":["token.refreshed"]}"#)
      let client = try world.client()
      for account in ["home", "work", "home"] {
        _ = await client.call("token.refresh", #"{"account":"\#(account)"}"#)
      }
      #expect(watcher.events.map { $0["account"]?.stringValue } == [work])
    }
  }
}
