import AgentModel
import AgentPorts
import AgentSimulation
import PracticeProvider
import StorageFaults
import Testing

/// Dynamic client registration (RFC 7591), and the end of a registration (RFC 7592).
@Suite struct RegistrationTests {
  private func provider(_ world: SimulatedWorld) -> SimulatedProvider {
    var options = Scene.options
    options.registration = .open
    return world.makeProvider("idp", options: options)
  }

  private let add = #"{"name":"idp","issuer":"https://idp.test"}"#

  private func deletions(_ world: SimulatedWorld) -> Int { world.network.sent.count { $0.method == "DELETE" } }

  @Test func registration_survivesARestartAndEndsWithTheProvider() throws {
    try scenario { world in
      let provider = provider(world)
      let added = try await world.client().call("provider.add", add)
      #expect(added.error == nil, "\(added)")
      try await world.signIn("alice", at: provider, alias: "work")
      try await world.restart()
      let refreshed = try await world.client().call("token.refresh", #"{"account":"work"}"#)
      #expect(refreshed["source"] == "refreshed", "\(refreshed)")
      let refused = try await world.client().call("provider.remove", #"{"provider":"idp"}"#)
      #expect(refused.error != nil)
      #expect(deletions(world) == 0)
      _ = try await world.client().call("account.signOut", #"{"account":"work","mode":"soft"}"#)
      _ = try await world.client().call("account.forget", #"{"account":"work"}"#)
      let removed = try await world.client().call("provider.remove", #"{"provider":"idp"}"#)
      #expect(removed.error == nil, "\(removed)")
      await world.clock.sleep(for: .seconds(1))
      #expect(provider.idp.requests().last?.status == 204)
      #expect(deletions(world) == 1)
    }
  }

  /// An unreachable provider does not prevent its removal.
  @Test func offlineProvider_isRemoved() throws {
    try scenario { world in
      _ = provider(world)
      _ = try await world.client().call("provider.add", add)
      world.network.isOnline = false
      let removed = try await world.client().call("provider.remove", #"{"provider":"idp"}"#)
      #expect(removed.error == nil, "\(removed)")
    }
  }

  @Test func configuredClientID_replacesTheRegistration() throws {
    try scenario { world in
      let provider = provider(world)
      _ = try await world.client().call("provider.add", add)
      let moved = try await world.client().call(
        "provider.update", #"{"provider":"idp","issuer":"https://other.test"}"#)
      #expect(moved.code == -32602, "\(moved)")
      let updated = try await world.client().call(
        "provider.update", #"{"provider":"idp","clientId":"lanyard-demo"}"#)
      #expect(updated.json["result", "provider", "clientId"]?.stringValue == "lanyard-demo", "\(updated)")
      #expect(updated.json["result", "provider", "clientRegistered"] == nil)
      await world.clock.sleep(for: .seconds(1))
      #expect(deletions(world) == 1)
      try await world.signIn("alice", at: provider)
    }
  }

  @Test func registrationThatCanNotBeStored_isDeleted() throws {
    try scenario { world in
      let provider = provider(world)
      world.disk.setReadOnly(true)
      let refused = try await world.client().call("provider.add", add)
      #expect(refused.code == 5001, "\(refused)")
      await world.clock.sleep(for: .seconds(1))
      #expect(provider.idp.requestCount(to: "/register") == deletions(world))
      world.disk.setReadOnly(false)
      #expect(try await world.client().call("provider.add", add).error == nil)
    }
  }

  /// Two `provider.add` of one name at once: one succeeds, and the provider keeps one client.
  @Test func concurrentRegistrations_leaveOneClient() throws {
    try scenario { world in
      let provider = provider(world)
      let answers = await withTaskGroup(of: Int?.self) { group in
        for _ in 0..<2 { group.addTask { (try? await world.client().call("provider.add", add))?.code } }
        return await group.reduce(into: []) { $0.append($1) }
      }
      #expect(answers.count { $0 == nil } == 1)
      await world.clock.sleep(for: .seconds(1))
      #expect(provider.idp.requestCount(to: "/register") == 1 + deletions(world))
      try await world.signIn("alice", at: provider)
    }
  }
}
