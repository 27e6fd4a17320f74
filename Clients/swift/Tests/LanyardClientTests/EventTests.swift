import Foundation
import Testing

@testable import LanyardClient

@Suite("Streams of events", .timeLimit(.minutes(1))) struct EventTests {
  private let agent: ScriptedAgent

  init() throws { agent = try ScriptedAgent() }

  @Test("Events come in their order, with typed data")
  func typed() async throws {
    let lanyard = agent.client()
    let events = try await lanyard.events(types: [.sessionExpired], accounts: ["work"])
    #expect(
      agent.received("event.subscribe")[0]["params"] == ["types": ["session.expired"], "accounts": ["work"]])
    agent.peers[0].event(1, "session.expired", ["reason": "refreshTokenRejected", "remedies": ["reauthenticate"]])
    agent.peers[0].event(2, "of.later")
    let first = try #require(try await events.next())
    #expect(events.position?.sequence == 1, "the second was not taken yet")
    #expect(first.sessionExpired?.reason == "refreshTokenRejected")
    #expect(first.sessionExpired?.remedies == [.reauthenticate])
    #expect(first.tokenRefreshed == nil)
    #expect(try await events.next()?.type == "of.later")
    #expect(events.position == EventPosition(epoch: "epoch-1", sequence: 2))
  }

  @Test("After a reconnection the stream resumes, and drops what it had")
  func resumes() async throws {
    let lanyard = agent.client()
    let events = try await lanyard.events()
    agent.peers[0].event(7)
    #expect(try await events.next()?.sequence == 7)
    agent.end()
    agent.on("event.subscribe") { request, peer in
      peer.answer(request, ["subscription": "sub-1", "epoch": "epoch-1", "sequence": 9, "gap": false])
      for sequence in 6...9 { peer.event(sequence) }
      return nil
    }
    try agent.listen()
    #expect(try await events.next()?.sequence == 8)
    #expect(try await events.next()?.sequence == 9)
    #expect(agent.received("event.subscribe")[1]["params"]?["since"] == ["epoch": "epoch-1", "sequence": 7])
  }

  @Test("Another run of the agent shows as one gap")
  func anotherEpoch() async throws {
    let lanyard = agent.client()
    let events = try await lanyard.events()
    agent.peers[0].event(7)
    #expect(try await events.next()?.sequence == 7)
    agent.end()
    agent.on("event.subscribe") { request, peer in
      peer.answer(request, ["subscription": "sub-1", "epoch": "epoch-2", "sequence": 2, "gap": true])
      peer.event(3, epoch: "epoch-2")
      return nil
    }
    try agent.listen()
    #expect(try await events.next()?.type == .eventGap)
    #expect(try await events.next()?.sequence == 3)
  }

  @Test("A subscription that comes after its task was cancelled is ended in the agent")
  func lateSubscription() async throws {
    let lanyard = agent.client()
    agent.on("event.subscribe") { _, _ in nil }
    let subscribing = Task { try await lanyard.events() }
    let request = try await agent.receives("event.subscribe")
    subscribing.cancel()
    _ = try await agent.receives("$/cancel")
    await #expect(throws: CancellationError.self) { try await subscribing.value }
    agent.peers[0].answer(request, ["subscription": "late", "epoch": "epoch-1", "sequence": 0, "gap": false])
    #expect(try await agent.receives("event.unsubscribe")["params"] == ["subscription": "late"])
  }

  @Test("A slow consumer gets a gap in place of the oldest events")
  func slowConsumer() async throws {
    let feed = EventFeed(types: nil, accounts: nil, since: nil)
    for sequence in 1...(EventFeed.largestQueue + 500) {
      feed.receive(
        Event(
          subscription: "s", epoch: "e", sequence: sequence, type: .tokenRefreshed, at: Date(timeIntervalSince1970: 0),
          data: [:]))
    }
    guard case .event(let first) = try await feed.step(), case .event(let second) = try await feed.step() else {
      Issue.record("no events")
      return
    }
    #expect(first.type == .eventGap)
    #expect(second.sequence == 502)
  }

  @Test("The end of a stream ends its iteration, also while it reconnects")
  func closes() async throws {
    let lanyard = agent.client()
    for disconnects in [false, true] {
      let events = try await lanyard.events()
      let task = Task { try await events.next() }
      if disconnects {
        agent.end()
        try await Task.sleep(for: .milliseconds(400))
      }
      events.close()
      #expect(try await task.value == nil)
    }
    _ = try await agent.receives("event.unsubscribe")
  }

  @Test("The end of the client ends its streams")
  func clientCloses() async throws {
    let lanyard = agent.client()
    let events = try await lanyard.events()
    let task = Task { try await events.next() }
    lanyard.close()
    #expect(try await task.value == nil)
  }

  @Test("A consumer whose task ends throws")
  func cancelled() async throws {
    let events = try await agent.client().events()
    let task = Task { try await events.next() }
    try await Task.sleep(for: .milliseconds(20))
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    agent.peers[0].event(1)
    #expect(try await events.next()?.sequence == 1)
  }

  @Test("A stream that is released unsubscribes")
  func released() async throws {
    let lanyard = agent.client()
    do {
      let events = try await lanyard.events()
      _ = events.position
    }
    _ = try await agent.receives("event.unsubscribe")
  }
}
