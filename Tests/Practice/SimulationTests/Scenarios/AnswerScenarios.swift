import AgentModel
import AgentSimulation
import PracticeProvider
import Testing

/// Responses with status 200 and an unusual member: trustworthy values are kept, others are not stored.
@Suite(.tellsItsSeed) struct AnswerScenarios {
  /// RFC 6749 §6: a server may issue a new refresh token; without one the old token stays valid.
  @Test func answerWithoutARefreshToken_keepsTheOldToken() async throws {
    try await everySeed { world, chance in
      // The provider is configured as strict, and does not rotate.
      let scene = try await Scene.signedIn(
        world, rotation: .none, more: chance.coin() ? #","refresh":{"reuse":"strict"}"# : "")
      for round in 1...chance.number(2...4) {
        await scene.expireUnused()
        if chance.coin() {
          // An empty refresh token counts as none.
          scene.idp.enqueueFault("/token", Fault(.changeAnswer(["refresh_token": chance.coin() ? "" : .null])))
        }
        let answer = try await scene.token()
        #expect(scene.works(answer), "\(answer)")
        #expect(scene.refreshes.count == round)
        if chance.coin() { try await world.restart() }
      }
      #expect(Set(scene.refreshes.map(\.refreshToken)) == [scene.firstRefreshToken])
      try await scene.livesOn()
    }
  }

  /// The clock of the signer of ID tokens is wrong; the token's claims about the person are right.
  @Test func idTokenIssuedTwoHoursOff_isAccepted() async throws {
    try await everySeed { world, chance in
      let scene = try await Scene.signedIn(world)
      await scene.expireUnused()
      let witness = try await Witness.at(world)
      let now = world.clock.trueTime.milliseconds / 1000
      let off = Int64(chance.one(of: [-7200, 7200])) + Int64(chance.number(-60...60))
      scene.idp.enqueueFault(
        "/token", Fault(.changeIDToken(["iat": .integer(now + off), "exp": .integer(now + off + 300)])))
      let answer = try await scene.token()
      #expect(scene.works(answer), "\(answer)")
      #expect(answer["source"] == "refreshed")
      #expect((3500...3600).contains(answer.result?["expiresInSeconds"]?.integerValue ?? 0), "\(answer)")
      #expect(scene.refreshes.count == 1)
      #expect(witness.expiries == [])
      if chance.coin() {
        // A sign-in accepts the same difference.
        scene.idp.enqueueFault(
          "/token", Fault(.changeIDToken(["iat": .integer(world.clock.trueTime.milliseconds / 1000 + off)])))
        return try await scene.signsInAgain(telling: [])
      }
      try await scene.livesOn()
    }
  }

  @Test func changedSubjectOnRefresh_endsTheGrant() async throws {
    try await everySeed { world, chance in
      let scene = try await Scene.signedIn(world, rotation: chance.one(of: CallerScenarios.rotations))
      await scene.expireUnused()
      let witness = try await Witness.at(world)
      scene.idp.enqueueFault("/token", Fault(.changeIDToken(["sub": "mallory-acme"])))
      let crowd = try Crowd(world, clients: 2)
      let asked = chance.number(1...5)
      for answer in await crowd.answers(crowd.ask(asked)) {
        answer.isExpected(2004, reason: "subjectChanged", account: scene.account)
      }
      crowd.wasAnsweredOnce(asked)
      #expect(witness.expiries == ["subjectChanged"])
      #expect(witness.states == ["reauthenticationRequired"])
      #expect(witness.refreshes == 0)
      if chance.coin() { try await world.restart() }
      // Neither the new token nor the one that was sent is used again; both are revoked.
      for method in ["token.get", "token.refresh"] {
        #expect(try await scene.token(method: method).code == 2004)
      }
      #expect(scene.refreshes.count == 1)
      await world.clock.sleep(for: .seconds(120))
      #expect(scene.idp.activeRefreshTokens().isEmpty)
      #expect(try await scene.account()["subject"] == "alice-acme")
      try await scene.signsInAgain()
    }
  }

  @Test func narrowedScope_isRemembered() async throws {
    try await everySeed { world, chance in
      let scene = try await Scene.signedIn(world)
      let granted = try await scene.token().scopes
      await scene.expireUnused()
      let witness = try await Witness.at(world)
      // A token requested with fewer scopes says nothing about the grant.
      let fewer = try await scene.token(#","scopes":["openid"]"#)
      #expect(fewer.scopes == ["openid"])
      #expect(witness.received("token.scopesNarrowed").isEmpty)
      #expect(try await scene.session().scopes == granted)

      let left = granted.sorted().filter { $0 == "openid" || chance.coin() }
      let lost = granted.subtracting(left)
      scene.idp.enqueueFault("/token", Fault(.changeAnswer(["scope": .string(left.joined(separator: " "))])))
      let answer = try await scene.token()
      #expect(scene.works(answer), "\(answer)")
      #expect(answer.scopes == Set(left))
      let told = witness.received("token.scopesNarrowed")
      #expect(told.count == (lost.isEmpty ? 0 : 1))
      if let told = told.first {
        #expect(Set(told["scopes"]?.arrayValue?.compactMap(\.stringValue) ?? []) == Set(left))
        #expect(Set(told["lost"]?.arrayValue?.compactMap(\.stringValue) ?? []) == lost)
      }
      // Nor does it replace the default token.
      #expect(try await scene.token(#","scopes":["openid"]"#, method: "token.refresh").scopes == ["openid"])
      #expect(try await scene.token()["accessToken"] == answer["accessToken"])
      try await world.restart()
      #expect(try await scene.session().scopes == Set(left), "it is remembered")
      try await scene.livesOn()
    }
  }

  /// New signing keys: a refresh needs none, and a sign-in fetches them.
  @Test func rotatedSigningKeys_doNotPreventRefreshes() async throws {
    try await everySeed { world, chance in
      let scene = try await Scene.signedIn(world, rotation: chance.one(of: CallerScenarios.rotations))
      for _ in 0..<chance.number(1...3) {
        scene.idp.rotateKeys(to: chance.one(of: [.rs256, .es256, .edDSA]), keepOld: chance.coin())
        await scene.expireUnused()
        let answer = try await scene.token()
        #expect(scene.works(answer), "\(answer)")
        if chance.coin() { try await world.restart() }
      }
      #expect(try await world.signIn("alice", at: scene.provider, again: scene.account) == scene.account)
      #expect(try await world.signIn("bob", at: scene.provider) != scene.account)
      #expect(scene.works(try await scene.token()))
    }
  }
}
