import AgentModel
import AgentSimulation
import PracticeProvider
import Testing

/// Servers without ID tokens and userinfo: introspection identifies the person (RFC 7662).
@Suite struct IntrospectedSignInTests {
  /// A provider of plain OAuth 2.0.
  private static func provider(_ world: SimulatedWorld) async throws -> SimulatedProvider {
    let provider = world.makeProvider("plain", options: Scene.options)
    for document in ["/.well-known/openid-configuration", "/.well-known/oauth-authorization-server"] {
      provider.idp.enqueueFault(document, Fault(.changeAnswer(["userinfo_endpoint": .null]), count: nil))
    }
    let added = try await world.client().call(
      "provider.add",
      #"""
      {"name":"plain","issuer":"\#(provider.idp.issuer)","clientId":"lanyard-demo","scopes":["profile","offline_access"]}
      """#)
    #expect(added.error == nil, "\(added)")
    return provider
  }

  @Test func introspection_identifiesThePerson() throws {
    try scenario { world in
      let provider = try await Self.provider(world)
      let alice = try await world.signIn("alice", at: provider, alias: "work")
      #expect(world.network.count("/introspect") == 1)
      #expect(world.network.count("/userinfo") == 0)
      let account = try await world.client().call("account.get", #"{"account":"work"}"#)
      #expect(account["subject"] == "alice-acme", "\(account)")
      #expect(try await world.signIn("bob", at: provider) != alice)
      #expect(try await world.signIn("alice", at: provider, again: alice) == alice)
    }
  }

  @Test(arguments: [
    Fault(.changeAnswer(["active": false])), Fault(.changeAnswer(["active": "true"])),
    Fault(.changeAnswer(["sub": .null])), Fault(.changeAnswer(["client_id": "another"])),
    .status(500, count: nil), .status(401), Fault(.notJSON), Fault(.dropAfterProcessing, count: nil),
  ]) func introspectionWithoutASubject_leavesNoAccount(fault: Fault) throws {
    try scenario { world in
      let provider = try await Self.provider(world)
      provider.idp.enqueueFault("/introspect", fault)
      await #expect(throws: SceneFailed.self) { try await world.signIn("alice", at: provider) }
      let accounts = try await world.client().call("account.list").result?["accounts"]?.arrayValue
      #expect(accounts?.isEmpty == true)
      #expect(world.browser.listening.isEmpty)
      await world.clock.sleep(for: .seconds(30))
      #expect(provider.idp.activeRefreshTokens().isEmpty, "what was issued is revoked")
    }
  }
}
