import AgentModel
import AgentPorts
import AgentSimulation
import PracticeProvider
import StorageFaults
import Testing

/// Tokens of accounts and providers that were removed before their revocation (docs/sign-out.md, Outbox).
@Suite(.tellsItsSeed) struct ForgottenAccountTests {
  /// What happens before the late answer comes.
  enum Meanwhile: CaseIterable { case forgotten, providerRemoved, locked }

  /// A refresh is in flight when the account is signed out and forgotten: its successor belongs to no account.
  @Test(arguments: Meanwhile.allCases) func lateAnswerAfterAForget_isRevoked(meanwhile: Meanwhile) throws {
    for seed in Seeds.asked(30) {
      try scenario(seed: seed) { world in
        var options = Scene.options
        // The revocation of the token that was sent does not reach the one that comes.
        options.revocationReach = .token
        let scene = try await Scene.signedIn(world, options: options)
        await scene.expireUnused()
        let (client, waiting, gate) = try await scene.heldExchange()
        #expect(await client.call("account.signOut", #"{"account":"work","mode":"soft"}"#).error == nil)
        #expect(await client.answer(to: waiting).code == 2003)
        #expect(await client.call("account.forget", #"{"account":"\#(scene.account)"}"#).error == nil)
        if meanwhile != .forgotten {
          #expect(await client.call("provider.remove", #"{"provider":"idp"}"#).error == nil)
        }
        if meanwhile == .locked { #expect(await client.call("agent.lock").error == nil) }
        gate.open()
        await world.clock.sleep(for: .seconds(20))
        if meanwhile == .locked {
          #expect(scene.idp.activeRefreshTokens().count == 1, "seed \(seed)")
          #expect(await client.call("agent.unlock").error == nil)
        }
        await world.clock.sleep(for: .seconds(120))
        #expect(scene.idp.activeRefreshTokens().isEmpty, "seed \(seed): the successor is revoked")
        #expect(await client.call("account.list").result?["accounts"]?.arrayValue?.isEmpty == true)
      }
    }
  }

  /// The entry has what its sending takes: the provider is gone from the vault.
  @Test(arguments: ["", #","clientId":"confidential","clientSecret":"practice-secret""#])
  func queuedRevocation_isSentAfterItsProviderWasRemoved(client members: String) throws {
    try scenario { world in
      let provider = world.makeProvider("idp", options: Scene.options)
      let client = try world.client()
      let clientID = members.isEmpty ? #","clientId":"lanyard-demo""# : ""
      let added = await client.call(
        "provider.add", #"{"name":"idp","issuer":"\#(provider.idp.issuer)"\#(clientID)\#(members)}"#)
      #expect(added.error == nil, "\(added)")
      let account = try await world.signIn("alice", at: provider)
      world.network.isOnline = false
      for (method, params) in [
        ("account.signOut", #"{"account":"\#(account)","mode":"soft"}"#),
        ("account.forget", #"{"account":"\#(account)"}"#), ("provider.remove", #"{"provider":"idp"}"#),
      ] {
        let answer = await client.call(method, params)
        #expect(answer.error == nil, "\(answer)")
      }
      try await world.restart()
      let watcher = try world.client()
      _ = await watcher.call("event.subscribe", #"{"types":["revocation.confirmed","revocation.abandoned"]}"#)
      #expect(provider.idp.activeRefreshTokens().count == 1)
      world.network.isOnline = true
      _ = await watcher.call("connectivity.report", #"{"online":true}"#)
      await world.clock.sleep(for: .seconds(60))
      #expect(watcher.events.map { $0["type"]?.stringValue } == ["revocation.confirmed"])
      #expect(provider.idp.activeRefreshTokens().isEmpty)
    }
  }

  /// Another client has the provider's name by then: it is never given the token of the one before.
  @Test func queuedRevocation_isSentByTheClientThatHadTheToken() throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world)
      let client = try world.client()
      let other = world.makeProvider("other", options: Scene.options)
      world.network.isOnline = false
      _ = await client.call("account.signOut", #"{"account":"work","mode":"hard"}"#)
      _ = await client.call("account.forget", #"{"account":"\#(scene.account)"}"#)
      #expect(await client.call("provider.remove", #"{"provider":"idp"}"#).error == nil)
      world.network.isOnline = true
      let added = await client.call(
        "provider.add", #"{"name":"idp","issuer":"\#(other.idp.issuer)","clientId":"lanyard-demo"}"#)
      #expect(added.error == nil, "\(added)")
      _ = await client.call("connectivity.report", #"{"online":true}"#)
      await world.clock.sleep(for: .seconds(60))
      #expect(world.network.count("/revoke", host: "other.test") == 0)
      #expect(scene.idp.activeRefreshTokens().isEmpty)
    }
  }

  /// A client that the agent registered itself is deregistered when the last revocation is sent, not before.
  @Test func registeredClient_isDeregisteredAfterTheLastRevocation() throws {
    try scenario { world in
      var options = Scene.options
      options.registration = .open
      let provider = world.makeProvider("idp", options: options)
      let client = try world.client()
      let added = await client.call("provider.add", #"{"name":"idp","issuer":"\#(provider.idp.issuer)"}"#)
      #expect(added.error == nil, "\(added)")
      let account = try await world.signIn("alice", at: provider)
      world.network.next("/revoke", .notConnected(.refused))
      _ = await client.call("account.signOut", #"{"account":"\#(account)","mode":"soft"}"#)
      _ = await client.call("account.forget", #"{"account":"\#(account)"}"#)
      #expect(await client.call("provider.remove", #"{"provider":"idp"}"#).error == nil)
      await world.clock.sleep(for: .seconds(2))
      #expect(provider.idp.activeRefreshTokens().count == 1)
      #expect(!world.network.sent.contains { $0.method == "DELETE" })
      await world.clock.sleep(for: .seconds(120))
      #expect(provider.idp.activeRefreshTokens().isEmpty)
      #expect(world.network.sent.suffix(2).map(\.method) == ["POST", "DELETE"])
    }
  }
}
