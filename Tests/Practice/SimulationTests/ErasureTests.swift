import AgentModel
import AgentPorts
import AgentSimulation
import Foundation
import StorageFaults
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

  /// The sealed records of all accounts. The agent is started again.
  private static func sealedRecords(_ world: SimulatedWorld) async throws -> [[UInt8]] {
    world.crash()
    let sealed = try world.tamper { store in
      try store.partitions().filter { $0 != .vault }.flatMap { try store.records(in: $0).map(\.sealed) }
    }
    try await world.restart()
    return sealed.filter { $0.count > 48 }
  }

  private static func isErased(_ sealed: [[UInt8]], from disk: SimulatedDisk) -> Bool {
    let bytes = Data(disk.bytes())
    return !sealed.contains { bytes.range(of: Data($0[12..<44])) != nil }
  }

  @Test(arguments: [SimulatedDisk.Death.kill, .powerLoss(seed: 3)])
  func deathAtAnyOperationOfAHardSignOut_isErasedBeforeTheFirstRequest(_ death: SimulatedDisk.Death) throws {
    for step in FaultSteps.asked {
      let hasDied = try SimulatedWorld(seed: UInt64(step)).run { world in
        let scene = try await Scene.signedIn(world)
        let sealed = try await Self.sealedRecords(world)
        #expect(!sealed.isEmpty && !Self.isErased(sealed, from: world.disk))
        world.failDisk(.die(death), at: step)
        _ = try? await leave(scene)
        let hasDied = !world.isRunning
        try await world.restart()
        // No job of the agent has run yet: what is pending was erased as the vault was opened.
        let isErased = Self.isErased(sealed, from: world.disk)
        let client = try world.client()
        let state = await client.call("account.get", #"{"account":"\#(scene.account)"}"#)["state"]
        if state == "signedOut" {
          #expect(isErased, "\(death) at \(step)")
        } else {
          #expect(state == "active")
          #expect(try await leave(scene)["data"] == "erased")
          #expect(Self.isErased(sealed, from: world.disk), "\(death) at \(step)")
        }
        return hasDied
      }
      guard hasDied else { break }
      try #require(step < 400)
    }
  }

  /// Only a foreign reader is waited for.
  @Test func erasureThatTheStoreFailed_isFinishedWithinSeconds() throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world)
      let witness = try await Witness.at(world)
      // The commit of the sign-out succeeds, that of the finished erasure fails.
      world.failCommit(2, with: .full)
      #expect(try await leave(scene)["data"] == "erasurePending")
      await world.clock.sleep(for: .seconds(5))
      #expect(witness.received("account.erased", of: scene.account).count == 1)
    }
  }

  /// An erasure waits long for a reader, and then the store fails for another one.
  @Test func erasureThatTheStoreFailed_waitsForNoPauseOfAReader() throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world)
      let other = try await world.signIn("bob", at: scene.provider, alias: "home")
      let witness = try await Witness.at(world)
      world.logIsHeld = true
      #expect(try await leave(scene)["data"] == "erasurePending")
      await world.clock.sleep(for: .seconds(3000))
      world.logIsHeld = false
      world.failCommit(2, with: .full)
      let client = try world.client()
      let answer = await client.call("account.signOut", #"{"account":"home","mode":"hard"}"#)
      #expect(answer["data"] == "erasurePending", "\(answer)")
      await world.clock.sleep(for: .seconds(5))
      #expect(witness.received("account.erased", of: scene.account).count == 1)
      #expect(witness.received("account.erased", of: other).count == 1)
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
