import AgentModel
import AgentPorts
import AgentSimulation
import PracticeProvider
import StorageFaults
import Testing

/// The four steps of the journal, and a death between any two of them (DESIGN, Tokens: Journal).
@Suite struct JournalTests {
  /// The three commits of a refresh: the intent, the staged answer, the new grant.
  static let intent = 1
  static let staged = 2
  static let kept = 3

  /// Dies at `moment` of a refresh on a provider with `rotation`, restarts, and asks for a token.
  private func afterDeath(
    _ moment: CommitMoment, _ rotation: RefreshTokenRotation = .strict,
    _ check: @escaping @Sendable (Scene, SimulatedAnswer) async throws -> Void
  ) throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world, rotation: rotation)
      await scene.expireUnused()
      world.crash(at: moment)
      let lost = try await scene.token()
      #expect(lost.isLost)
      try await world.restart()
      try await check(scene, try await scene.token())
      #expect(scene.idp.endOfGrant(scene.grant) == nil)
    }
  }

  @Test func aDeathBeforeTheIntentSendsNothing() throws {
    try afterDeath(.before(Self.intent)) { scene, answer in
      #expect(answer["source"] == "refreshed")
      #expect(scene.refreshes.map(\.refreshToken) == [scene.firstRefreshToken])
    }
  }

  @Test func aDeathBetweenIntentAndSendingIsInDoubtOnAStrictProvider() throws {
    try afterDeath(.after(Self.intent)) { scene, answer in
      #expect(scene.refreshes.isEmpty)
      #expect(answer.code == 2004)
      #expect(answer.reason == "outcomeUnknown")
      #expect(scene.refreshes.isEmpty, "it is not sent by itself")
    }
  }

  @Test func aDeathBetweenIntentAndSendingCostsOneReplayWhereThatIsForgiven() throws {
    try afterDeath(.after(Self.intent), .grace(seconds: 60)) { scene, answer in
      #expect(answer["source"] == "refreshed")
      #expect(scene.refreshes.map(\.refreshToken) == [scene.firstRefreshToken])
    }
  }

  @Test func anAnswerThatWasNotStagedIsInDoubtOnAStrictProvider() throws {
    try afterDeath(.before(Self.staged)) { scene, answer in
      #expect(answer.code == 2004)
      #expect(answer.reason == "outcomeUnknown")
      #expect(scene.refreshes.count == 1)
      let session = try await scene.session()
      #expect(session["state"] == "reauthenticationRequired")
      #expect(session.json["result", "refresh", "phase"]?.stringValue == "inDoubt")
    }
  }

  @Test func anAnswerThatWasNotStagedIsFetchedAgainWithinTheGrace() throws {
    try afterDeath(.before(Self.staged), .grace(seconds: 60)) { scene, answer in
      #expect(answer["source"] == "refreshed")
      #expect(scene.refreshes.map(\.refreshToken) == [scene.firstRefreshToken, scene.firstRefreshToken])
      #expect(scene.idp.activeRefreshTokens().count == 1)
    }
  }

  @Test func aStagedAnswerIsGoneOnWithAfterTheDeath() throws {
    for moment in [CommitMoment.after(Self.staged), .before(Self.kept)] {
      try afterDeath(moment) { scene, answer in
        #expect(answer["source"] == "refreshed")
        #expect(scene.works(answer))
        #expect(scene.refreshes.count == 1, "nothing more is asked of the provider")
      }
    }
  }

  @Test func afterTheCommitTheNewTokenIsTheOneThatIsUsed() throws {
    try afterDeath(.after(Self.kept)) { scene, answer in
      #expect(scene.works(answer))
      #expect(scene.refreshes.count == 2)
      #expect(scene.refreshes.last?.refreshToken != scene.firstRefreshToken)
    }
  }

  /// The clock of a new boot says nothing about when the request was sent.
  @Test func aStagedAnswerOfAnEarlierBootGivesItsRefreshTokenOnly() throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world)
      await scene.expireUnused()
      world.crash(at: .after(Self.staged))
      _ = try await scene.token()
      world.crash(.powerLoss(seed: 3))
      try await world.restart()
      let answer = try await scene.token()
      #expect(scene.works(answer), "\(answer)")
      #expect(scene.refreshes.count == 2)
      #expect(scene.refreshes.last?.refreshToken != scene.firstRefreshToken)
      #expect(scene.idp.endOfGrant(scene.grant) == nil)
    }
  }

  @Test func aGraceThatPassedWhileTheAgentWasAwayIsNotUsed() throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world, rotation: .grace(seconds: 60))
      await scene.expireUnused()
      world.crash(at: .before(Self.staged))
      _ = try await scene.token()
      await world.clock.sleep(for: .seconds(31))
      try await world.restart()
      let answer = try await scene.token()
      #expect(answer.code == 2004, "\(answer)")
      #expect(answer.reason == "outcomeUnknown")
      #expect(scene.refreshes.count == 1)
    }
  }

  // MARK: a disk that is full

  @Test func aFullDiskBeginsNoExchangeAndLosesNothing() throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world)
      await scene.expireUnused()
      world.disk.setCapacity(world.disk.bytes().count)
      let answer = try await scene.token()
      #expect(answer.code == 5001, "\(answer)")
      #expect(answer.json["error", "data", "retryable"]?.boolValue == true)
      #expect(scene.refreshes.isEmpty, "nothing is spent that could not be kept")
      world.disk.setCapacity(nil)
      await world.clock.sleep(for: .seconds(2))
      #expect(scene.works(try await scene.token()))
      #expect(scene.refreshes.count == 1)
    }
  }

  @Test func aCachedTokenIsServedFromAFullDisk() throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world)
      world.disk.setCapacity(world.disk.bytes().count)
      #expect(try await scene.token()["source"] == "cache")
      await world.clock.sleep(for: .seconds(3310))
      let stale = try await scene.token(#","minimumLifetimeSeconds":1"#)
      #expect(scene.works(stale), "\(stale)")
      #expect(scene.refreshes.isEmpty)
    }
  }

  @Test func aDiskThatFillsUpWhileStagingLosesNothing() throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world)
      await scene.expireUnused()
      world.failCommit(Self.staged, with: .full)
      let answer = try await scene.token()
      #expect(answer.code == 5001, "\(answer)")
      #expect(answer.reason == "diskFull")
      await world.clock.sleep(for: .seconds(2))
      let later = try await scene.token()
      #expect(scene.works(later), "\(later)")
      #expect(scene.refreshes.count == 1, "the answer that came was kept in memory")
      try await world.restart()
      #expect(scene.works(try await scene.token()))
      #expect(scene.idp.endOfGrant(scene.grant) == nil)
    }
  }

  @Test func aDiskThatFailsAtTheLastStepLosesNothing() throws {
    for restarts in [false, true] {
      try scenario { world in
        let scene = try await Scene.signedIn(world)
        await scene.expireUnused()
        world.failCommit(Self.kept, with: .inputOutput)
        let answer = try await scene.token()
        #expect(answer.code == 5001, "\(answer)")
        if restarts { try await world.restart() } else { await world.clock.sleep(for: .seconds(2)) }
        let later = try await scene.token()
        #expect(scene.works(later), "\(later)")
        #expect(scene.refreshes.count == 1)
      }
    }
  }
}
