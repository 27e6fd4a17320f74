import AgentModel
import AgentPorts
import AgentSimulation
import PracticeProvider
import StorageFaults
import Testing

/// A PIN under kills, full disks and concurrent callers: no guess is gained.
@Suite(.tellsItsSeed) struct StepUpTests {
  static let dataLocked = 2008, failed = 4003, throttled = 4004, storeUnavailable = 5001

  private static func call(_ scene: Scene, _ method: String, _ more: String = "") async throws -> SimulatedAnswer {
    let client = try scene.world.client()
    defer { client.disconnect() }
    return await client.call(method, #"{"account":"\#(scene.account)"\#(more)}"#)
  }

  private static func verify(_ scene: Scene, _ pin: String) async throws -> SimulatedAnswer {
    try await call(scene, "stepUp.verify", #","pin":"\#(pin)""#)
  }

  private static func left(_ scene: Scene) async throws -> Int64 {
    try #require(try await call(scene, "stepUp.status").result?["attemptsLeft"]?.integerValue)
  }

  private static func withPIN(_ world: SimulatedWorld) async throws -> Scene {
    let scene = try await Scene.signedIn(world)
    let enrolled = try await call(scene, "stepUp.enroll", #","pin":"2468""#)
    #expect(enrolled.error == nil, "\(enrolled)")
    return scene
  }

  @Test(arguments: ["0000", "2468"], [CommitMoment.before(1), .after(1), .before(2), .after(2)])
  func deathBetweenCountingAndJudging_givesNoTryBack(pin: String, moment: CommitMoment) throws {
    try scenario { world in
      let scene = try await Self.withPIN(world)
      world.crash(at: moment)
      let answer = try await Self.verify(scene, pin)
      try await world.restart()
      let left = try await Self.left(scene)
      switch moment {
      case .before(1): #expect(answer.isLost && left == 10)
      case .after(1): #expect(answer.isLost && left == 9, "what was counted stays counted")
      // The second commit stores the result, and returns a right PIN's attempt.
      default: #expect(answer.isLost && left == (pin == "2468" && moment == .after(2) ? 10 : 9))
      }
      // In memory only: no step-up survives the process.
      #expect(try await Self.call(scene, "stepUp.status")["validUntil"] == nil)
    }
  }

  /// An attempt that can't be counted is not judged.
  @Test func pinOnAFullDisk_isNotTried() throws {
    try scenario { world in
      let scene = try await Self.withPIN(world)
      for pin in ["0000", "2468"] {
        world.failCommit(1, with: .full)
        #expect(try await Self.verify(scene, pin).code == Self.storeUnavailable)
      }
      #expect(try await Self.left(scene) == 10)
      #expect(try await Self.verify(scene, "2468").error == nil)
    }
  }

  @Test func concurrentGuesses_areCountedSeparately() throws {
    for seed in Seeds.asked(20) {
      try scenario(seed: seed) { world in
        let scene = try await Self.withPIN(world)
        let answers = try await withThrowingTaskGroup(of: SimulatedAnswer.self) { group in
          for number in 0..<20 { group.addTask { try await Self.verify(scene, "guess \(number)") } }
          var answers: [SimulatedAnswer] = []
          for try await answer in group { answers.append(answer) }
          return answers
        }
        let judged = answers.filter { $0.code == Self.failed }
          .compactMap { $0.json["error", "data", "attemptsLeft"]?.integerValue }
        #expect(judged.sorted() == [7, 8, 9], "seed \(seed)")
        #expect(answers.filter { $0.code == Self.throttled }.count == 17, "seed \(seed)")
        #expect(try await Self.left(scene) == 7, "seed \(seed)")
      }
    }
  }

  /// A sign-out or a lock while a PIN is judged leaves no step-up behind.
  @Test(arguments: ["account.signOut", "agent.lock"])
  func signOutOrLockDuringVerification_leavesNoStepUp(method: String) throws {
    for seed in Seeds.asked(40) {
      try scenario(seed: seed) { world in
        let scene = try await Self.withPIN(world)
        async let verified = Self.verify(scene, "2468")
        let client = try world.client()
        let ended = await client.call(
          method, method == "agent.lock" ? "{}" : #"{"account":"\#(scene.account)","mode":"soft"}"#)
        #expect(ended.error == nil, "seed \(seed): \(ended)")
        _ = try await verified
        if method == "agent.lock" { _ = await client.call("agent.unlock") }
        client.disconnect()
        #expect(try await Self.call(scene, "stepUp.status")["validUntil"] == nil, "seed \(seed)")
      }
    }
  }

  /// After a disk death at any operation of a soft sign-out, the data opens after a sign-in with the PIN.
  @Test func deathInASoftSignOut_losesNoData() throws {
    for step in FaultSteps.asked {  // each costs three PINs
      let reached = try SimulatedWorld(seed: UInt64(step)).run { world in
        let scene = try await Self.withPIN(world)
        let put = try await Self.call(scene, "secret.put", #","name":"draft","value":"words""#)
        #expect(put.error == nil)
        let before = world.disk.operations
        world.failDisk(.die(.powerLoss(seed: UInt64(step))), at: step)
        _ = try await Self.call(scene, "account.signOut", #","mode":"soft""#)
        let reached = world.disk.operations - before >= step
        try await world.restart()
        let token = try await scene.token()
        if token.code == 2003 {
          _ = try await world.signIn("alice", at: scene.provider, alias: "work")
          let read = try await Self.call(scene, "secret.get", #","name":"draft""#)
          #expect(read.code == Self.dataLocked, "step \(step): \(read)")
          let verified = try await Self.verify(scene, "2468")
          #expect(verified.error == nil, "step \(step): \(verified)")
        }
        let read = try await Self.call(scene, "secret.get", #","name":"draft""#)
        #expect(read["value"] == "words", "step \(step): \(read)")
        return reached
      }
      guard reached else { break }
      try #require(step < 300)
    }
  }
}
