import AgentModel
import AgentSimulation
import Testing

/// A hard sign-out while another process reads the store: the data is erased for every caller at once, and its last
/// trace as soon as the reader is gone (docs/sign-out.md, Modes).
@Suite struct ErasureTests {
  private func leave(_ scene: Scene) async throws -> SimulatedAnswer {
    let client = try scene.world.client()
    defer { client.disconnect() }
    return await client.call("account.signOut", #"{"account":"work","mode":"hard"}"#)
  }

  @Test func openReader_delaysTheErasureUntilItIsGone() throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world)
      let witness = try await Witness.at(world)
      world.logIsHeld = true
      let answer = try await leave(scene)
      #expect(answer["data"] == "erasurePending", "\(answer)")
      try await scene.token().isExpected(2003, account: scene.account)
      await world.clock.sleep(for: .seconds(600))
      #expect(witness.received("account.erased").isEmpty)
      world.logIsHeld = false
      await world.clock.sleep(for: .seconds(600))
      #expect(witness.received("account.erased", of: scene.account).count == 1)
      await world.clock.sleep(for: .seconds(6000))
      #expect(witness.received("account.erased").count == 1, "reported once")
    }
  }

  @Test func pendingErasure_isFinishedByTheNextStart() throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world)
      world.logIsHeld = true
      #expect(try await leave(scene)["data"] == "erasurePending")
      world.crash()
      world.logIsHeld = false
      try await world.restart()
      await world.clock.sleep(for: .seconds(1))
      // No erasure is pending any more: the next account is erased at once.
      let witness = try await Witness.at(world)
      try await world.signIn("alice", at: scene.provider, alias: "work")
      #expect(try await leave(scene)["data"] == "erased")
      #expect(witness.received("account.erased").count == 1)
    }
  }

  @Test func pendingErasure_isFinishedWithTheNextErasure() throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world)
      let other = try await world.signIn("bob", at: scene.provider, alias: "home")
      let witness = try await Witness.at(world)
      world.logIsHeld = true
      #expect(try await leave(scene)["data"] == "erasurePending")
      world.logIsHeld = false
      let client = try world.client()
      #expect(await client.call("account.signOut", #"{"account":"home","mode":"hard"}"#)["data"] == "erased")
      #expect(witness.received("account.erased", of: scene.account).count == 1)
      #expect(witness.received("account.erased", of: other).count == 1)
    }
  }

  @Test func forgottenAccount_isReportedAfterItsErasure() throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world)
      #expect(try await leave(scene)["data"] == "erased")
      let witness = try await Witness.at(world)
      world.logIsHeld = true
      let client = try world.client()
      #expect(await client.call("account.forget", #"{"account":"\#(scene.account)"}"#).error == nil)
      await world.clock.sleep(for: .seconds(100))
      #expect(witness.received("account.erased").isEmpty)
      world.logIsHeld = false
      await world.clock.sleep(for: .seconds(600))
      #expect(witness.received("account.erased", of: scene.account).count == 1)
    }
  }
}
