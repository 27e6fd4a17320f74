import AgentModel
import AgentSimulation
import PracticeProvider
import StorageFaults
import Testing

/// A refresh with a fault at each disk operation in turn: the old or the new token is kept, and no spent token is sent.
@Suite struct RefreshCrashTests {
  static let rotations: [RefreshTokenRotation] = [.none, .grace(seconds: 60), .strict]
  static let deaths: [SimulatedDisk.Death] = [.kill] + (1...3).map { .powerLoss(seed: $0) }

  /// The result of one run.
  struct Run: Sendable {
    var reached: Bool
    var answered: SimulatedAnswer
    var afterwards: SimulatedAnswer
  }

  /// Plans `fault` at operation `step` of a refresh, lets it happen, and asks again after a restart.
  static func run(
    _ rotation: RefreshTokenRotation, _ fault: SimulatedDisk.Fault, step: Int, heals: Bool
  ) throws -> Run {
    let seed = UInt64(step)
    let comment: Comment = "\(rotation), \(fault) at \(step), seed \(seed)"
    let world = SimulatedWorld(seed: seed)
    return try world.run { world in
      let scene = try await Scene.signedIn(world, rotation: rotation)
      await scene.expireUnused()
      let before = world.disk.operations
      world.failDisk(fault, at: step)
      let answered = try await scene.token()
      let reached = world.disk.operations - before >= step
      let sent = scene.refreshes.count
      #expect(sent <= 1, comment)
      if answered.error == nil, !answered.isLost { #expect(scene.works(answered), comment) }

      if heals {
        world.disk.withdrawPlan()
        await world.clock.sleep(for: .seconds(2))
      } else {
        try await world.restart()
      }
      let afterwards = try await scene.token()
      if afterwards.error == nil {
        #expect(scene.works(afterwards), comment)
      } else {
        #expect(afterwards.code == 2004, "\(comment): \(afterwards)")
        #expect(afterwards.reason == "outcomeUnknown", comment)
      }
      // The family is live: no token was sent twice that may be sent once.
      #expect(scene.idp.endOfGrant(scene.grant) == nil, comment)
      if case .strict = rotation {
        #expect(Set(scene.refreshes.map(\.refreshToken)).count == scene.refreshes.count, comment)
      }
      // The account works on, if need be after a sign-in.
      if afterwards.code == 2004 { try await world.signIn("alice", at: scene.provider, again: scene.account) }
      await scene.expireUnused()
      let later = try await scene.token()
      #expect(scene.works(later), "\(comment): \(later)")
      return Run(reached: reached, answered: answered, afterwards: afterwards)
    }
  }

  @Test(arguments: rotations, deaths)
  func deathAtAnyOperation_leavesTheOldOrTheNewToken(rotation: RefreshTokenRotation, death: SimulatedDisk.Death) throws
  {
    var unknown = 0
    for step in 1... {
      let run = try Self.run(rotation, .die(death), step: step, heals: false)
      if run.afterwards.code == 2004 { unknown += 1 }
      switch (rotation, death) {
      case (.none, _): #expect(run.afterwards.code == nil, "without rotation a retry loses nothing; at \(step)")
      case (.grace, .kill): #expect(run.afterwards.code == nil, "within the grace one replay is right; at \(step)")
      default: break
      }
      guard run.reached else { break }
      try #require(step < 400)
    }
    if rotation == .strict { #expect(unknown > 0, "between sending and staging the outcome is unknown") }
  }

  @Test(arguments: rotations, [SimulatedDisk.Failure.inputOutput, .full])
  func diskFailingOnce_losesNoToken(rotation: RefreshTokenRotation, failure: SimulatedDisk.Failure) throws {
    for step in FaultSteps.asked {
      let run = try Self.run(rotation, .fail(failure, once: true), step: step, heals: true)
      #expect(run.afterwards.code == nil, "\(failure) once at \(step): \(run.afterwards)")
      guard run.reached else { break }
      try #require(step < 400)
    }
  }

  @Test(arguments: rotations, [SimulatedDisk.Failure.inputOutput, .full])
  func diskThatRecovers_losesNoToken(rotation: RefreshTokenRotation, failure: SimulatedDisk.Failure) throws {
    for step in FaultSteps.asked {
      let run = try Self.run(rotation, .fail(failure, once: false), step: step, heals: true)
      #expect(run.answered.code == nil || run.answered.code == 5001, "at \(step): \(run.answered)")
      #expect(run.afterwards.code == nil, "\(failure) from \(step): \(run.afterwards)")
      guard run.reached else { break }
      try #require(step < 400)
    }
  }

  @Test(arguments: rotations, [SimulatedDisk.Failure.inputOutput, .full])
  func diskFailingUntilARestart_losesATokenOnlyUnderStrictRotation(
    rotation: RefreshTokenRotation, failure: SimulatedDisk.Failure
  ) throws {
    for step in FaultSteps.asked {
      let run = try Self.run(rotation, .fail(failure, once: false), step: step, heals: false)
      #expect(run.answered.code == nil || run.answered.code == 5001, "at \(step): \(run.answered)")
      if rotation != .strict {
        #expect(run.afterwards.code == nil, "\(failure) from \(step): \(run.afterwards)")
      }
      guard run.reached else { break }
      try #require(step < 400)
    }
  }
}
