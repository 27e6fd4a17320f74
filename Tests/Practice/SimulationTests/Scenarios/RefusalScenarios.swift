import AgentModel
import AgentSimulation
import PracticeProvider
import Testing

/// Refusals of a provider: how long each holds, and for which callers.
@Suite(.tellsItsSeed) struct RefusalScenarios {
  /// After `fault`, which names a pause, the provider gets no request for `pause`, from any caller.
  private func waits(
    _ scene: Scene, _ chance: Chance, for pause: ClosedRange<Int64>, after fault: Fault
  ) async throws {
    let world = scene.world
    let witness = try await Witness.at(world)
    scene.idp.enqueueFault("/token", fault)
    let crowd = try Crowd(world, clients: 2)
    let answers = await crowd.answers(crowd.ask(chance.number(1...5)))
    for answer in answers { answer.isExpected(3002, account: scene.account, pause: pause) }
    let told = try #require(answers.last?.retryAfterMs)
    let session = try await scene.session()
    #expect(session["state"] == "active", "\(session)")
    #expect(session.json["result", "refresh", "phase"]?.stringValue == "backoff", "\(session)")
    #expect(session.json["result", "refresh", "lastError", "name"]?.stringValue == "providerUnavailable")
    #expect(session.json["result", "refresh", "nextAttemptAt"]?.stringValue != nil)

    let end = world.clock.boot() + Milliseconds(told)
    for _ in 0..<chance.number(1...3) {
      if chance.number(0...3) == 0 { try await world.restart() }
      await world.clock.sleep(for: chance.milliseconds(0...max(0, (end - world.clock.boot()).count - 1000)))
      for method in ["token.get", "token.refresh"] {
        try await scene.token(method: method).isExpected(3002, account: scene.account, pause: 1...told)
      }
    }
    #expect(scene.refreshes.count == 1, "it is left alone")
    await world.clock.sleep(until: end + Milliseconds(1000))
    let answer = try await scene.token()
    #expect(scene.works(answer), "\(answer)")
    #expect(witness.expiries == [])
    try await scene.livesOn()
  }

  private static let statuses = [503, 429, 408, 425, 500]

  @Test func retryAfterInSeconds_isKept() async throws {
    try await everySeed { world, chance in
      let scene = try await Scene.signedIn(world)
      await scene.expireUnused()
      let seconds = chance.number(2...3600)
      let fault = Fault.status(chance.one(of: Self.statuses), "", headers: [("Retry-After", "\(seconds)")])
      let pause = Int64(seconds) * 1000
      try await self.waits(scene, chance, for: pause - 200...pause, after: fault)
    }
  }

  @Test func retryAfterAsADate_isKept() async throws {
    try await everySeed { world, chance in
      let scene = try await Scene.signedIn(world)
      await scene.expireUnused()
      let seconds = Int64(chance.number(3...3500))
      let date = httpDate(world.clock.trueTime + .seconds(seconds))
      let fault = Fault.status(chance.one(of: Self.statuses), "", headers: [("Retry-After", date)])
      // A date has whole seconds.
      try await self.waits(scene, chance, for: seconds * 1000 - 1200...seconds * 1000, after: fault)
    }
  }

  /// A longer pause counts as one hour.
  @Test func retryAfterOverAnHour_isCutToAnHour() async throws {
    try await everySeed { world, chance in
      let scene = try await Scene.signedIn(world)
      await scene.expireUnused()
      let seconds = chance.one(of: [5400, 5400, 3601, 86_400, 1 << 40])
      let header = chance.coin() ? "\(seconds)" : httpDate(world.clock.trueTime + .seconds(5400))
      let fault = Fault.status(chance.one(of: Self.statuses), "", headers: [("Retry-After", header)])
      try await self.waits(scene, chance, for: 3_599_000...3_600_000, after: fault)
    }
  }

  /// Some providers throttle with status 400: this needs the person as little as 429 does.
  @Test func throttlingWithStatus400_isRetriedLater() async throws {
    try await everySeed { world, chance in
      let scene = try await Scene.signedIn(
        world, more: #","refresh":{"reuse":"strict"},"errorCodes":{"AADSTS90055":"transient","E0000047":"transient"}"#)
      await scene.expireUnused()
      let witness = try await Witness.at(world)
      let body = chance.one(of: [
        #"{"error":"slow_down"}"#, #"{"error":"temporarily_unavailable"}"#, #"{"error":"server_error"}"#,
        #"{"error":"invalid_grant","suberror":"E0000047"}"#,
        #"{"error":"invalid_grant","error_codes":["AADSTS90055"]}"#,
        #"{"error":"invalid_request","code":"E0000047"}"#,
      ])
      let times = chance.number(1...6)
      scene.idp.enqueueFault("/token", .status(400, body, count: times))
      for attempt in 1...times {
        let answer = try await scene.token(method: chance.one(of: ["token.get", "token.refresh"]))
        answer.isExpected(3002, account: scene.account, pause: 1...600_000)
        #expect(scene.refreshes.count == attempt)
        await world.clock.sleep(for: Milliseconds((answer.retryAfterMs ?? 0) + 1))
      }
      #expect(try await scene.session()["state"] == "active")
      #expect(scene.works(try await scene.token()))
      #expect(witness.expiries == [])
      try await scene.livesOn()
    }
  }

  /// One API requires a second factor: its callers get `interactionRequired`, all others get their tokens.
  @Test func interactionForOneAPI_leavesOtherTokensAvailable() async throws {
    try await everySeed { world, chance in
      let scene = try await Scene.signedIn(world)
      await scene.expireUnused()
      let witness = try await Witness.at(world)
      let error = chance.one(of: ["interaction_required", "mfa_required", "consent_required", "login_required"])
      var fault = Fault.error(error, count: nil)
      fault.matching = ["resource": "https://payroll.example/"]
      scene.idp.enqueueFault("/token", fault)
      let payroll = #","resource":"https://payroll.example/""#
      let crowd = try Crowd(world, clients: 3)
      let refused = crowd.ask(chance.number(1...4), "token.get", #"{"account":"work"\#(payroll)}"#)
      let ordinary = crowd.ask(chance.number(1...4))
      let other = crowd.ask(1, "token.get", #"{"account":"work","resource":"https://mail.example/"}"#)
      for answer in await crowd.answers(refused) { answer.isExpected(2005, account: scene.account) }
      for answer in await crowd.answers(ordinary + other) { #expect(scene.works(answer), "\(answer)") }
      #expect(scene.refreshes.count == 3)
      for _ in 0..<chance.number(1...3) {
        try await scene.token(payroll).isExpected(2005, account: scene.account)
        #expect(try await scene.token()["source"] == "cache")
      }
      if chance.coin() {
        try await world.restart()
        try await scene.token(payroll).isExpected(2005, account: scene.account)
      }
      #expect(scene.refreshes.count == 3, "the same answer is not fetched again")
      #expect(try await scene.session()["state"] == "interactionRequired")
      #expect(witness.states == ["interactionRequired"])
      #expect(witness.expiries == [], "the session lives")
      crowd.wasAnsweredOnce(refused.count + ordinary.count + other.count)

      scene.idp.clearFaults()
      try await scene.signsInAgain()
      #expect(scene.works(try await scene.token(payroll)))
    }
  }

  /// A resource, or the token endpoint, names claims that need the person.
  @Test func claimsChallenge_requiresInteraction() async throws {
    try await everySeed { world, chance in
      let scene = try await Scene.signedIn(world)
      let current = try await scene.token()
      let claims = #"{"id_token":{"acr":{"values":["phr-\#(chance.number(0...999))"]}}}"#
      let told = #""# + claims.replacing("\"", with: #"\\\""#)
      let challenge = #"Bearer realm=\"api\", error=\"insufficient_claims\", claims=\"\#(told)\""#
      let crowd = try Crowd(world, clients: 2)
      let rejecting = scene.rejecting(try #require(current["fingerprint"]), #","challenge":"\#(challenge)""#)
      for answer in await crowd.answers(crowd.ask(chance.number(1...5), "token.reject", rejecting)) {
        answer.isExpected(2005, account: scene.account)
        #expect(answer.json["error", "data", "claims"]?.stringValue == claims, "\(answer)")
      }
      #expect(scene.refreshes.isEmpty, "no exchange can answer it")
      #expect(try await scene.token()["accessToken"] == current["accessToken"])

      await scene.expireUnused()
      let body = PracticeJSON.object([
        .init("error", .string(chance.one(of: ["interaction_required", "invalid_grant"]))),
        .init("claims", .string(claims)),
      ])
      scene.idp.enqueueFault("/token", .status(400, body.text))
      let mail = #","resource":"https://mail.example/""#
      for _ in 0..<chance.number(1...3) {
        let answer = try await scene.token(mail)
        answer.isExpected(2005, account: scene.account)
        #expect(answer.json["error", "data", "claims"]?.stringValue == claims, "\(answer)")
      }
      if chance.coin() {
        try await world.restart()
        try await scene.token(mail).isExpected(2005, account: scene.account)
      }
      #expect(scene.refreshes.count == 1, "it is remembered")
      #expect(scene.works(try await scene.token()))
      try await scene.signsInAgain()
      #expect(scene.works(try await scene.token(mail)))
    }
  }

  /// An account is disabled only if the provider says so; a dead token alone says nothing about the person.
  @Test func disabledUser_isLockedOnlyIfTheProviderSaysSo() async throws {
    try await everySeed { world, chance in
      var options = Scene.options
      let isConfirmed = chance.coin()
      if !isConfirmed { options.disabledUserSuberror = nil }
      let scene = try await Scene.signedIn(world, options: options)
      await scene.expireUnused()
      let witness = try await Witness.at(world)
      try scene.idp.setUser("alice", disabled: true)
      let crowd = try Crowd(world, clients: 2)
      let asked = chance.number(1...5)
      for answer in await crowd.answers(crowd.ask(asked)) {
        answer.isExpected(isConfirmed ? 2006 : 2004, account: scene.account)
      }
      crowd.wasAnsweredOnce(asked)
      let state = isConfirmed ? "locked" : "reauthenticationRequired"
      #expect(try await scene.session()["state"] == state)
      #expect(witness.states == [state])
      #expect(witness.expiries.count == (isConfirmed ? 0 : 1))
      try await world.restart()
      for _ in 0..<chance.number(1...3) {
        try await scene.token().isExpected(isConfirmed ? 2006 : 2004, account: scene.account)
        await world.clock.sleep(for: chance.seconds(0...10))
      }
      #expect(try await scene.session()["state"] == state, "it is remembered")
      #expect(scene.refreshes.count == 1, "ordinary requests cost the provider nothing more")
      #expect(scene.idp.isActive(refreshToken: scene.firstRefreshToken), "nothing was spent")

      try scene.idp.setUser("alice", disabled: false)
      if chance.coin() { return try await scene.signsInAgain() }
      // A forced refresh reaches the provider, once in two minutes.
      await world.clock.sleep(for: .seconds(121))
      let insisted = try await scene.token(method: "token.refresh")
      #expect(scene.works(insisted), "\(insisted)")
      try await scene.livesOn()
    }
  }

  /// A dead grant costs the provider one request in two minutes, over any requests and restarts, and one event asks for
  /// a sign-in.
  @Test func deadGrant_costsOneRequestInTwoMinutes() async throws {
    try await everySeed { world, chance in
      let scene = try await Scene.signedIn(world)
      await scene.expireUnused()
      #expect(scene.idp.revoke(grant: scene.grant))
      var told: [String] = []
      var witness = try await Witness.at(world)
      for _ in 0..<chance.number(3...8) {
        let crowd = try Crowd(world, clients: 2)
        let asked =
          crowd.ask(chance.number(1...3)) + crowd.ask(chance.number(0...3), "token.refresh")
          + crowd.ask(1, "token.reject", scene.rejecting("AAAAAAAAAAAAAAAA"))
        for answer in await crowd.answers(asked) { answer.isExpected(2004, account: scene.account) }
        crowd.wasAnsweredOnce(asked.count)
        await world.clock.sleep(for: chance.seconds(0...90))
        if chance.number(0...3) == 0 {
          told += witness.expiries
          try await world.restart()
          witness = try await Witness.at(world)
        }
      }
      let times = scene.refreshes.map(\.at)
      for (earlier, later) in zip(times, times.dropFirst()) {
        #expect(later - earlier >= .seconds(120), "\(times)")
      }
      #expect((told + witness.expiries).count == 1)
      #expect(try await scene.session()["state"] == "reauthenticationRequired")
      try await scene.signsInAgain()
    }
  }
}

/// RFC 9110 §5.6.7.
private func httpDate(_ time: Timestamp) -> String {
  let text = time.rfc3339
  let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
  let days = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]  // the first of 1970 was a Thursday
  let day = days[Int(time.milliseconds / 86_400_000 % 7)]
  let parts = text.split(whereSeparator: { "-T:.Z".contains($0) })
  return "\(day), \(parts[2]) \(months[Int(parts[1])! - 1]) \(parts[0]) \(parts[3]):\(parts[4]):\(parts[5]) GMT"
}
