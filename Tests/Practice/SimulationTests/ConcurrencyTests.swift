import AgentModel
import AgentSimulation
import PracticeProvider
import Testing

/// A person signs in again, or ends the agent, during an exchange. Callers are in `CallerScenarios`.
@Suite(.tellsItsSeed) struct ConcurrencyTests {
  static let seeds = Seeds.asked(130)

  @Test func lateAnswer_doesNotOverwriteANewSignIn() throws {
    for seed in Self.seeds {
      try scenario(seed: seed) { world in
        let scene = try await Scene.signedIn(world)
        await scene.expireUnused()
        let (client, waiting, gate) = try await scene.heldExchange()
        let again = try await world.signIn("alice", at: scene.provider, again: scene.account)
        #expect(again == scene.account)
        let told = await client.answer(to: waiting)
        #expect(scene.works(told) || told.code == 2004, "seed \(seed): \(told)")
        let before = try await scene.token()
        gate.open()
        await world.clock.sleep(for: .seconds(1))
        #expect(try await scene.token()["fingerprint"] == before["fingerprint"], "seed \(seed)")

        // The stored grant is the new one, too.
        try await world.restart()
        let after = try await scene.token()
        #expect(scene.works(after), "seed \(seed): \(after)")
        let spent = try #require(scene.refreshes.last?.refreshToken)
        let grant = try #require(scene.idp.grant(ofToken: spent))
        #expect(grant != scene.grant, "seed \(seed)")
        #expect(scene.idp.endOfGrant(grant) == nil, "seed \(seed)")
        // The token that came too late belongs to no account: it was revoked.
        #expect(scene.idp.endOfGrant(scene.grant) == "revoked", "seed \(seed)")
      }
    }
  }

  /// Where a revocation reaches all grants of this person to this client, revoking a token that came too late must not
  /// end the new sign-in.
  @Test func revocationOfALateAnswer_doesNotEndTheNewSignIn() throws {
    for seed in Self.seeds {
      try scenario(seed: seed) { world in
        var options = Scene.options
        options.revocationReach = .grant
        let scene = try await Scene.signedIn(
          world, options: options, more: #","refresh":{"reuse":"strict"},"revocationScope":"grant""#)
        await scene.expireUnused()
        let gate = try await scene.heldExchange().gate
        try await world.signIn("alice", at: scene.provider, again: scene.account)
        gate.open()
        await world.clock.sleep(for: .seconds(60))
        await scene.expireUnused()
        let answer = try await scene.token()
        #expect(scene.works(answer), "seed \(seed): \(answer)")
      }
    }
  }

  @Test func shutdownDuringAnExchange_answersItsCaller_andKeepsItsAnswer() throws {
    for seed in Self.seeds {
      try scenario(seed: seed) { world in
        let scene = try await Scene.signedIn(world)
        await scene.expireUnused()
        let (client, waiting, gate) = try await scene.heldExchange()
        #expect(await client.call("agent.shutdown").error == nil)
        gate.open()
        #expect(scene.works(await client.answer(to: waiting)), "seed \(seed)")
        while world.isRunning { await world.clock.sleep(for: Milliseconds(50)) }
        try await world.restart()
        #expect(scene.works(try await scene.token()), "seed \(seed)")
        #expect(scene.idp.endOfGrant(scene.grant) == nil, "seed \(seed)")
      }
    }
  }
}
