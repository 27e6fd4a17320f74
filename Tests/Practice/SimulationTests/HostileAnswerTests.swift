import AgentModel
import AgentSimulation
import PracticeProvider
import Testing

/// Responses that no OAuth server should send, in place of the provider's, and the account's state afterwards.
@Suite struct HostileAnswerTests {
  static let rotations: [RefreshTokenRotation] = [.none, .grace(seconds: 30), .strict]

  /// Meets `incident` once at the refresh of an expired token, with each kind of rotation.
  private func meeting(
    _ incident: Incident, more: String? = nil,
    _ check: @escaping @Sendable (Scene, RefreshTokenRotation, SimulatedAnswer) async throws -> Void
  ) throws {
    for rotation in Self.rotations {
      try scenario { world in
        let scene = try await Scene.signedIn(world, rotation: rotation, more: more)
        await scene.expireUnused()
        world.network.next("/token", incident)
        try await check(scene, rotation, try await scene.token())
      }
    }
  }

  private static func answer(_ status: Int, _ body: String, _ type: String? = nil) -> Incident {
    .intercepted(status: status, fields: type.map { [("Content-Type", $0)] } ?? [], body: body)
  }

  static let html = "<!doctype html><title>x</title>"
  static let deepList = String(repeating: "[", count: 10_000)
  static let deepObject = String(repeating: #"{"a":"#, count: 10_000)

  /// No token was issued: the request is retried after a pause, and no sign-in is needed under any rotation.
  @Test(
    arguments: [
      // A captive portal, in all its forms.
      (200, html, "text/html"), (200, html, "application/json"), (200, html, nil), (511, html, "text/html"),
      (302, "", nil), (303, html, "text/html"), (307, "", nil), (308, "", nil),
      (200, "Please log in", "text/html"),
      // Failing servers and proxies.
      (500, html, "text/html"), (500, "", nil), (599, "", nil),
      (500, #"{"error":"invalid_grant"}"#, "application/json"), (503, deepObject, "application/json"),
      // Unexplained refusals: retried the first time.
      (400, "", nil), (400, html, "text/html"), (403, "", nil), (404, html, "text/html"),
      (400, "{", "application/json"),
      (400, deepObject, "application/json"), (400, "\u{0}", nil), (400, #"{"error":7}"#, "application/json"),
      (200, #"{"error":"no_such_word"}"#, "application/json"),
    ] as [(Int, String, String?)])
  func responseWithoutTokens_isRetriedAfterAPause(status: Int, body: String, type: String?) throws {
    try meeting(Self.answer(status, body, type)) { scene, rotation, answer in
      #expect(answer.code == 3002, "\(rotation): \(answer)")
      #expect((1...600_000).contains(answer.retryAfterMs ?? 0), "\(rotation): \(answer)")
      #expect(try await scene.session()["state"] == "active")
      #expect(scene.refreshes.count == 1, "\(rotation)")
      await scene.world.clock.sleep(for: Milliseconds((answer.retryAfterMs ?? 0) + 1))
      #expect(scene.works(try await scene.token()), "\(rotation)")
      try await scene.livesOn()
    }
  }

  /// A response without tokens that is not plainly of another server, and possible remains of one with tokens: the
  /// refresh token may be spent, and the provider's rule decides.
  @Test(
    arguments: [
      #"{"access_token":"#, #"{"access_token":"at","refresh_token":"r"#, "{", deepObject,
      #"{"access_token":"at","token_type":"Bearer",}"#, #"{"access_token":"a","access_token":"b"}"#,
      "{\u{0}\"\u{0}a\u{0}c\u{0}", "\u{FEFF}{\"access", #"{"x":"\x41","access_token":"at"}"#,
      "", "OK", "{}", "[]", "null", ")]}'", #"{"status":"maintenance"}"#, deepList, "\u{1F}\u{8B}\u{8}",
    ])
  func unreadableTokenResponse_isAnUnknownOutcome(body: String) throws {
    try meeting(Self.answer(200, body, "application/json")) { scene, rotation, answer in
      switch rotation {
      case .none, .renewed:
        #expect(answer.code == 3002, "\(answer)")
        #expect(scene.refreshes.count == 1)
        await scene.world.clock.sleep(for: .seconds(301))
        #expect(scene.works(try await scene.token()))
        try await scene.livesOn()
      case .grace:
        #expect(scene.works(answer), "the one replay that the provider forgives: \(answer)")
        #expect(scene.refreshes.count == 2)
        try await scene.livesOn()
      case .strict:
        #expect(answer.code == 2004, "\(answer)")
        #expect(answer.reason == "outcomeUnknown")
        await scene.world.clock.sleep(for: .seconds(3600))
        #expect(try await scene.token(method: "token.refresh").code == 2004)
        try await scene.world.restart()
        #expect(try await scene.token().code == 2004)
        #expect(scene.refreshes.count == 1, "it is never sent again (I4)")
        #expect(scene.idp.endOfGrant(scene.grant) == nil)
        try await scene.world.signIn("alice", at: scene.provider, again: scene.account)
        #expect(scene.works(try await scene.token()))
      }
    }
  }

  @Test func oversizedTokenResponse_isNotRead() throws {
    let body = #"{"access_token":""# + String(repeating: "x", count: 1 << 20) + #""}"#
    try meeting(Self.answer(200, body, "application/json")) { scene, rotation, answer in
      switch rotation {
      case .none, .renewed: #expect(answer.code == 3002, "\(answer)")
      case .grace: #expect(scene.works(answer), "\(answer)")
      case .strict: #expect(answer.reason == "outcomeUnknown", "\(answer)")
      }
      #expect(scene.idp.endOfGrant(scene.grant) == nil)
    }
  }

  /// The successor token is whole in an unreadable response: it is stored, and one more exchange with it answers the
  /// caller.
  @Test func refreshTokenInAnUnreadableResponse_isKept() throws {
    for ruin in [#","x":\#(Self.deepList)"#, #","access_to"#, #","name":"\ud800"}"#, ",}"] {
      try scenario { world in
        let scene = try await Scene.signedIn(world)
        await scene.expireUnused()
        // The provider's response is replaced, not altered, so the successor is the token that the provider still
        // knows.
        world.network.next(
          "/token", Self.answer(200, #"{"refresh_token":"\#(scene.firstRefreshToken)"\#(ruin)"#, "application/json"))
        #expect(scene.works(try await scene.token()), "\(ruin)")
        #expect(scene.refreshes.map(\.refreshToken) == [scene.firstRefreshToken, scene.firstRefreshToken])
        try await scene.livesOn()
      }
    }
  }

  /// The successor token in a form, an array, or behind a preface is stored.
  @Test func refreshTokenInAnUnusualResponse_isKept() throws {
    let bodies: [@Sendable (String) -> String] = [
      { "refresh_token=\($0)&token_type=bearer" }, { #"[{"refresh_token":"\#($0)"}]"# },
      { ")]}'\n" + #"{"refresh_token":"\#($0)"}"# }, { ")]}'," + #"{"refresh_token":"\#($0)","# },
    ]
    for (number, body) in bodies.enumerated() {
      try scenario { world in
        let scene = try await Scene.signedIn(world)
        await scene.expireUnused()
        // The provider's response is replaced, so the successor is the token that the provider still knows.
        world.network.next("/token", Self.answer(200, body(scene.firstRefreshToken), "text/plain"))
        #expect(scene.works(try await scene.token()), "\(number)")
        #expect(scene.refreshes.map(\.refreshToken) == [scene.firstRefreshToken, scene.firstRefreshToken])
        try await scene.livesOn()
      }
    }
  }

  /// GitHub refuses with status 200: the preset's table decides.
  @Test(
    arguments: [
      ("bad_refresh_token", 2004), ("incorrect_client_credentials", 3003), ("unverified_user_email", 2005),
      ("slow_down", 3002),
    ] as [(String, Int)])
  func refusalWithStatus200_isClassifiedByThePreset(error: String, code: Int) throws {
    try meeting(
      Self.answer(200, #"{"error":"\#(error)","error_description":"d"}"#, "application/json"),
      more: #","preset":"github","scopes":["openid","profile","email","offline_access"]"#
    ) { scene, _, answer in
      #expect(answer.code == code, "\(answer)")
      #expect(scene.refreshes.count == 1)
      #expect(scene.idp.endOfGrant(scene.grant) == nil)
    }
  }

  /// Entra throttles with status 400: the agent waits a minute, and nothing is lost.
  @Test func throttlingWithStatus400_waitsAMinute() throws {
    let body = #"{"error":"invalid_grant","error_codes":[50196],"suberror":"bad_token"}"#
    try meeting(
      Self.answer(400, body, "application/json"), more: #","preset":"entra","tenant":{"value":"acme"}"#
    ) { scene, _, answer in
      #expect(answer.code == 3002, "\(answer)")
      #expect((59_000...60_000).contains(answer.retryAfterMs ?? 0), "\(answer)")
      await scene.world.clock.sleep(for: .seconds(50))
      let meanwhile = try await scene.token()
      #expect(meanwhile.code == 3002)
      #expect(scene.refreshes.count == 1)
      await scene.world.clock.sleep(for: .seconds(11))
      let afterwards = try await scene.token()
      #expect(scene.works(afterwards), "\(afterwards)")
    }
  }
}
