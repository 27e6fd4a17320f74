import AgentModel
import AgentPorts
import AgentSimulation
import PracticeProvider
import Testing

/// Lost answers at a provider that nothing is configured for (docs/tokens.md, Unknown outcome).
@Suite struct LastReplayTests {
  private static let byDefault = #","allowedOrigins":[]"#

  /// No answer came, and the provider never saw the request: the session is kept, without the person.
  @Test func frozenProvider_costsNoSession() throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world, more: Self.byDefault)
      let witness = try await Witness.at(world)
      await world.clock.sleep(for: .seconds(3350))
      world.network.next("/token", .lostRequest(.timedOut))
      #expect(try await scene.token(#","minimumLifetimeSeconds":1"#)["source"] == "cache")
      await world.clock.sleep(for: .seconds(60))
      #expect(scene.refreshes.count == 1)
      #expect(try await scene.session()["state"] == "active")
      #expect(scene.works(try await scene.token(#","minimumLifetimeSeconds":1"#)))
      await world.clock.sleep(for: .seconds(200))
      #expect(scene.works(try await scene.token()))
      #expect(scene.refreshes.map(\.refreshToken) == [scene.firstRefreshToken, scene.firstRefreshToken])
      #expect(witness.expiries == [])
      try await scene.livesOn()
    }
  }

  /// Two connections are dropped while the metadata answers, and the provider never took the token.
  @Test(arguments: [HTTPOutcome.LostResponse.reset, .timedOut], Seeds.asked(8))
  func twoDroppedConnections_endNoSession(lost: HTTPOutcome.LostResponse, seed: UInt64) throws {
    try scenario(seed: seed) { world in
      let scene = try await Scene.signedIn(world, more: Self.byDefault)
      let witness = try await Witness.at(world)
      await scene.expireUnused()
      world.network.next("/token", .lostRequest(lost), times: 2)
      try await scene.token().isExpected(3002, reason: "noAnswer", account: scene.account, pause: 14_000...30_000)
      await world.clock.sleep(for: .seconds(14))
      #expect(try await scene.token(method: "token.refresh").code == 3002)
      #expect(scene.refreshes.count == 1, "no sooner than 15 s after the loss")
      await world.clock.sleep(for: .seconds(17))
      try await scene.token().isExpected(3002, reason: "noAnswer", account: scene.account, pause: 1...60_000)
      #expect(scene.refreshes.count == 2)
      #expect(try await scene.session()["state"] == "active")
      await world.clock.sleep(for: .seconds(75))
      #expect(scene.works(try await scene.token()))
      #expect(witness.expiries == [])
      try await scene.livesOn()
    }
  }

  /// Neither the metadata nor the token endpoint answers: the refresh token stays here.
  @Test func silentProvider_isSentNoReplay() throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world, more: Self.byDefault)
      await scene.expireUnused()
      world.network.next("/token", .lostRequest(.reset), times: 1000)
      world.network.next("/.well-known/openid-configuration", .lostRequest(.reset), times: 1000)
      for _ in 0..<60 {
        #expect(try await scene.token().code == 3002)
        await world.clock.sleep(for: .seconds(20))
      }
      #expect(scene.refreshes.count == 1)
      world.network.clearIncidents()
      await world.clock.sleep(for: .seconds(16))
      #expect(scene.works(try await scene.token()))
      try await scene.livesOn()
    }
  }

  /// A network's sign-in page stands in place of the metadata, and what is posted is dropped or meets the page, too: the
  /// provider has not answered.
  @Test(
    arguments: [200, 302, 403],
    [
      Incident.lostRequest(.reset),
      .intercepted(status: 200, fields: [("Content-Type", "text/html")], body: "<html>Guest network</html>"),
    ])
  func signInPageOfTheNetwork_isSentNoReplay(status: Int, posted: Incident) throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world, more: Self.byDefault)
      let witness = try await Witness.at(world)
      await scene.expireUnused()
      let page = Incident.intercepted(
        status: status, fields: [("Content-Type", "text/html"), ("Location", "http://guest.example/")],
        body: "<html>Guest network</html>")
      world.network.next("/token", .lostRequest(.reset))
      world.network.next("/token", posted, times: 1000)
      world.network.next("/.well-known/openid-configuration", page, times: 1000)
      for _ in 0..<30 {
        #expect(try await scene.token().code == 3002)
        await world.clock.sleep(for: .seconds(20))
      }
      #expect(scene.refreshes.count == 1)
      #expect(witness.expiries == [])
      world.network.clearIncidents()
      await world.clock.sleep(for: .seconds(16))
      #expect(scene.works(try await scene.token()))
      try await scene.livesOn()
    }
  }

  /// A server without metadata, or with its documents elsewhere: it refuses a request without a token, so it answers.
  @Test func providerWithoutMetadata_isSentTheReplayOnceItsTokenEndpointAnswers() throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world, more: Self.byDefault)
      await scene.expireUnused()
      let missing = Incident.intercepted(status: 404, fields: [("Content-Type", "text/html")], body: "<html>404</html>")
      world.network.next("/.well-known/openid-configuration", missing, times: nil)
      world.network.next("/token", .lostRequest(.reset))
      #expect(try await scene.token().code == 3002)
      await world.clock.sleep(for: .seconds(31))
      #expect(scene.works(try await scene.token()))
      #expect(scene.refreshes.map(\.refreshToken) == [scene.firstRefreshToken, scene.firstRefreshToken])
    }
  }

  /// A replay is not spent on a provider that still hangs.
  @Test func hangingProvider_isAskedForItsMetadataBeforeTheReplay() throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world, more: Self.byDefault)
      await scene.expireUnused()
      world.network.next("/token", .lostRequest(.timedOut))
      world.network.next("/.well-known/openid-configuration", .lostRequest(.timedOut))
      #expect(try await scene.token().error != nil)
      #expect(scene.refreshes.count == 1)
      await world.clock.sleep(for: .seconds(600))
      let answer = try await scene.token()
      #expect(scene.works(answer), "\(answer)")
      #expect(scene.refreshes.count == 2)
      try await scene.livesOn()
    }
  }

  /// One account in doubt is enough: the others wait until the provider's metadata answers.
  @Test func hangingProvider_putsFewSessionsInDoubt() throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world, more: Self.byDefault)
      for user in ["bob", "carol"] { try await world.signIn(user, at: scene.provider, alias: user) }
      world.network.next("/token", .lostRequest(.timedOut), times: 100)
      world.network.next("/.well-known/openid-configuration", .lostRequest(.timedOut), times: 100)
      await world.clock.sleep(for: .seconds(3290))
      let client = try world.client()
      for account in ["work", "bob", "carol"] {
        _ = await client.call("token.get", #"{"account":"\#(account)","minimumLifetimeSeconds":1}"#)
      }
      await world.clock.sleep(for: .seconds(250))
      #expect(scene.refreshes.count <= 2, "two at an issuer at a time, and none after the first time-out")
      world.network.clearIncidents()
      await world.clock.sleep(for: .seconds(1000))
      for account in ["work", "bob", "carol"] {
        let answer = await client.call("token.get", #"{"account":"\#(account)"}"#)
        #expect(scene.works(answer), "\(account): \(answer)")
      }
    }
  }

  /// A gateway does not know what the provider behind it did.
  @Test(arguments: [502, 504], ["", "1800"])
  func gatewayError_costsNoSession(status: Int, retryAfter: String) throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world, more: Self.byDefault)
      await scene.expireUnused()
      let pause: ClosedRange<Int64> = retryAfter.isEmpty ? 14_800...30_000 : 1_799_800...1_800_000
      scene.idp.enqueueFault(
        "/token", .status(status, "", headers: retryAfter.isEmpty ? [] : [("Retry-After", retryAfter)]))
      try await scene.token().isExpected(3002, account: scene.account, pause: pause)
      await world.clock.sleep(for: Milliseconds(pause.lowerBound - 1000))
      #expect(try await scene.token().code == 3002)
      #expect(scene.refreshes.count == 1)
      await world.clock.sleep(for: .seconds(17))
      #expect(scene.works(try await scene.token()))
      try await scene.livesOn()
    }
  }

  @Test func providerWhoseRevocationEndsGrants_isNeverSentASpentToken() throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world, more: #","revocationScope":"grant""#)
      await scene.expireUnused()
      world.network.next("/token", .lostRequest(.reset))
      try await scene.token().isExpected(2004, reason: "outcomeUnknown", account: scene.account)
      await world.clock.sleep(for: .seconds(100_000))
      #expect(try await scene.token().code == 2004)
      #expect(scene.refreshes.count == 1)
    }
  }

  /// The rule is learned from what comes back, and told.
  @Test func providerThatDoesNotRotate_isLearned() throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world, rotation: .none, more: Self.byDefault)
      let client = try world.client()
      func rule() async throws -> [String?] {
        let provider = await client.call("provider.get", #"{"provider":"idp"}"#).json["result", "provider"]
        return [provider?["refresh"]?["reuse"]?.stringValue, provider?["refreshBecause"]?.stringValue]
      }
      #expect(try await rule() == ["strict", "assumed"])
      #expect(scene.works(try await scene.token(method: "token.refresh")))
      #expect(try await rule() == ["none", "learned"])
      try await world.restart()
      let after = try world.client()
      let provider = await after.call("provider.get", #"{"provider":"idp"}"#).json["result", "provider"]
      #expect(provider?["refreshBecause"]?.stringValue == "learned", "it is remembered")
    }
  }

  /// A provider that rotates only now and then: the same refresh token came back so far, and the lost answer rotated.
  @Test(arguments: ["family", "grant"]) func learnedRule_allowsNoReplayAtOnce(revocationScope: String) throws {
    try scenario { world in
      let scene = try await Scene.signedIn(
        world, rotation: .none, more: #","allowedOrigins":[],"revocationScope":"\#(revocationScope)""#)
      #expect(scene.works(try await scene.token(method: "token.refresh")))
      world.network.next("/token", .lostAnswer(.reset))
      let refused = try await scene.token(method: "token.refresh")
      #expect(refused.code == (revocationScope == "grant" ? 2004 : 3002), "\(refused)")
      await world.clock.sleep(for: .seconds(600))
      #expect(scene.works(try await scene.token()), "the token at hand is served")
      #expect(try await scene.token(method: "token.refresh").error != nil)
      #expect(scene.refreshes.count == 2, "the spent token is not sent while another one works")
      await world.clock.sleep(for: .seconds(3600))
      if revocationScope == "grant" {
        #expect(try await scene.token().code == 2004)
        #expect(scene.refreshes.count == 2)
      } else {
        #expect(scene.works(try await scene.token()))
        #expect(scene.refreshes.count == 3)
      }
    }
  }

  /// One answer with another refresh token is enough, and what it ended is not learned again.
  @Test func learnedRule_isUnlearnedByOneRotatedAnswer() throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world, rotation: .none, more: Self.byDefault)
      let client = try world.client()
      func basis() async throws -> String? {
        await client.call("provider.get", #"{"provider":"idp"}"#).json["result", "provider", "refreshBecause"]?
          .stringValue
      }
      #expect(scene.works(try await scene.token(method: "token.refresh")))
      #expect(try await basis() == "learned")
      scene.idp.enqueueFault("/token", Fault(.changeAnswer(["refresh_token": .string("another")])))
      #expect(scene.works(try await scene.token(method: "token.refresh")))
      #expect(try await basis() == "assumed")
      let again = #"{"access_token":"at","token_type":"Bearer","expires_in":3600,"refresh_token":"another"}"#
      world.network.next("/token", .intercepted(status: 200, fields: [], body: again))
      #expect(try await scene.token(method: "token.refresh").error == nil)
      #expect(try await basis() == "assumed")
    }
  }

  /// A sign-in counts as use: its refresh token is used in time where it ends with the access token, whether the
  /// provider tells that or not.
  @Test(arguments: [true, false]) func refreshTokenThatEndsWithItsAccessToken_isUsedInTimeWithoutACaller(
    isTold: Bool
  ) throws {
    try scenario { world in
      var options = Scene.options
      options.accessTokenLifetimeSeconds = 600
      options.refreshTokenLifetimeSeconds = 600
      options.tellsRefreshTokenLifetime = isTold
      let scene = try await Scene.signedIn(world, options: options)
      await world.clock.sleep(for: .seconds(620))
      #expect(scene.refreshes.count == 1)
      #expect(scene.works(try await scene.token()))
    }
  }

  /// A sign-in counts as one use, as a `token.get` at that moment: renewal goes on for half an hour, and then no
  /// longer.
  @Test func unusedSignIn_isRenewedForHalfAnHour() throws {
    try scenario { world in
      var options = Scene.options
      options.accessTokenLifetimeSeconds = 600
      let scene = try await Scene.signedIn(world, options: options)
      await world.clock.sleep(for: .seconds(1800))
      let count = scene.refreshes.count
      #expect((3...4).contains(count), "\(count)")
      await world.clock.sleep(for: .seconds(86_400))
      #expect(scene.refreshes.count == count)
    }
  }
}
