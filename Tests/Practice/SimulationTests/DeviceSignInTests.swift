import AgentModel
import AgentPorts
import AgentSimulation
import PracticeProvider
import Testing

/// Signing in by device code: the agent polls, and any end of the polling leaves nothing behind.
@Suite(.tellsItsSeed) struct DeviceSignInTests {
  /// A device sign-in in progress.
  struct Begun: Sendable {
    let world: SimulatedWorld
    let provider: SimulatedProvider
    let client: SimulatedClient
    let id: String
    let code: String

    init(_ world: SimulatedWorld, _ more: String = "", provider: SimulatedProvider? = nil) async throws {
      self.world = world
      if let provider { self.provider = provider } else { self.provider = try await world.provider("idp") }
      client = try world.client()
      let begun = await client.call("signIn.begin", #"{"provider":"idp","flow":"device"\#(more)}"#)
      id = try #require(begun["signIn"], "\(begun)")
      code = try #require(begun["userCode"])
    }

    func ended() async -> SimulatedAnswer { await client.call("signIn.wait", #"{"signIn":"\#(id)"}"#) }

    func approve(as user: String = "alice") throws { try provider.idp.approveDevice(userCode: code, as: user) }

    /// No account, no listener, no live token, and no further polling.
    func leftNothing(sourceLocation: SourceLocation = #_sourceLocation) async throws {
      let client = try world.client()
      let accounts = await client.call("account.list").result?["accounts"]?.arrayValue
      #expect(accounts?.isEmpty == true, sourceLocation: sourceLocation)
      #expect(world.browser.listening.isEmpty, sourceLocation: sourceLocation)
      await world.clock.sleep(for: .seconds(60))
      #expect(provider.idp.activeRefreshTokens().isEmpty, sourceLocation: sourceLocation)
      let asked = world.network.count("/token")
      await world.clock.sleep(for: .seconds(120))
      #expect(world.network.count("/token") == asked, sourceLocation: sourceLocation)
    }
  }

  @Test func approvedDeviceSignIn_completes() throws {
    for seed in Seeds.asked(60) {
      try scenario(seed: seed) { world in
        let begun = try await Begun(world, #","alias":"work""#)
        await world.clock.sleep(for: Chance(seed: seed).seconds(7...140))
        try begun.approve()
        let ended = await begun.ended()
        #expect(ended["status"] == "completed", "seed \(seed): \(ended)")
        let token = await begun.client.call("token.get", #"{"account":"work"}"#)
        #expect(token["accessToken"].map { begun.provider.idp.isActive(accessToken: $0) } == true)
        let times = world.network.sent.filter { $0.path == "/token" }.map(\.at)
        for (earlier, later) in zip(times, times.dropFirst()) {
          #expect(later - earlier >= .seconds(5), "seed \(seed)")
        }
      }
    }
  }

  /// The server's interval is longer than it announced.
  @Test func slowDown_lengthensThePollingInterval() throws {
    try scenario { world in
      let provider = try await world.provider("idp")
      provider.idp.enqueueFault("/token", .status(400, #"{"error":"slow_down"}"#))
      provider.idp.enqueueFault("/token", .status(429, #"{"error":"slow_down"}"#))
      let begun = try await Begun(world, provider: provider)
      await world.clock.sleep(for: .seconds(100))
      try begun.approve()
      #expect(await begun.ended()["status"] == "completed")
      let times = world.network.sent.filter { $0.path == "/token" }.map(\.at)
      let gaps = zip(times, times.dropFirst()).map { ($1 - $0).count / 1000 }
      #expect(gaps.first == 10)
      #expect(gaps.dropFirst().allSatisfy { $0 == 15 }, "\(gaps)")
    }
  }

  @Test func deviceSignInAfterAnHourOffline_completesInTime() throws {
    try scenario { world in
      var options = PracticeOptions()
      options.deviceCodeLifetimeSeconds = 3600
      let begun = try await Begun(world, provider: try await world.provider("idp", options: options))
      world.network.isOnline = false
      await world.clock.sleep(for: .seconds(3000))
      #expect(world.network.count("/token") < 110, "it polls less while it is offline")
      try begun.approve()
      world.network.isOnline = true
      let back = world.clock.boot()
      #expect(await begun.ended()["status"] == "completed")
      #expect(world.clock.boot() - back <= .seconds(31), "the person does not wait long")
    }
  }

  @Test func endedDeviceSignIn_leavesNothingBehind() throws {
    for (reason, code, prepare) in Self.ends {
      try scenario { world in
        let begun = try await Begun(world)
        try prepare(begun)
        let ended = await begun.ended()
        #expect(ended.code == code, "\(reason): \(ended)")
        #expect(ended.reason == reason || code != 2007, "\(reason): \(ended)")
        try await begun.leftNothing()
      }
    }
  }

  private static let ends: [(String, Int, @Sendable (Begun) throws -> Void)] = [
    ("denied", 2007, { try $0.provider.idp.denyDevice(userCode: $0.code) }),
    ("expired", 2007, { _ in }),
    ("expired", 2007, { $0.provider.idp.enqueueFault("/token", .status(400, #"{"error":"expired_token"}"#)) }),
    ("refused", 2007, { $0.provider.idp.enqueueFault("/token", .status(404, #"{"error":"device_not_found"}"#)) }),
    ("refused", 2007, { $0.provider.idp.enqueueFault("/token", .status(400, #"{"error":"invalid_grant"}"#)) }),
    ("misconfigured", 3003, { $0.provider.idp.enqueueFault("/token", .status(401, #"{"error":"invalid_client"}"#)) }),
    ("untrusted", 3004, { $0.world.network.next("/token", .untrusted(.unknownAuthority)) }),
    (
      "invalidIdToken", 2007,
      {
        try $0.approve()
        $0.provider.idp.enqueueFault("/token", Fault(.changeIDToken([:], signature: .impostor)))
      }
    ),
    (
      "invalidIdToken", 2007,
      {
        try $0.approve()
        $0.world.network.next("/jwks", .notConnected(.refused), times: nil)
      }
    ),
    (
      "invalidTokenResponse", 2007,
      {
        try $0.approve()
        $0.provider.idp.enqueueFault("/token", Fault(.changeAnswer(["token_type": "mac"])))
      }
    ),
  ]

  /// The process dies while polling: the next process does not know the sign-in.
  @Test func killDuringDevicePolling_leavesNothingBehind() throws {
    for seed in Seeds.asked(100) {
      try scenario(seed: seed) { world in
        let provider = try await world.provider("idp")
        _ = try await Begun(world, provider: provider)  // reads the provider's metadata
        let commits = world.commits
        let begun = try await Begun(world, provider: provider)
        if seed % 3 == 0 {
          let gate = Gate()
          world.network.next("/token", .heldBefore(gate))
          await gate.reached()
        } else {
          await world.clock.sleep(for: Chance(seed: seed).milliseconds(0...30_000))
        }
        #expect(world.commits <= commits + 1, "nothing of it is on the disk but perhaps the time, seed \(seed)")
        world.crash()
        await world.clock.sleep(for: .seconds(60))  // pending requests have arrived
        try begun.approve()
        try await world.restart()
        let unknown = try await world.client().call("signIn.wait", #"{"signIn":"\#(begun.id)"}"#)
        #expect(unknown.code == 6003, "seed \(seed)")
        try await begun.leftNothing()
      }
    }
  }

  /// The sign-in is cancelled while its tokens are on their way: they are revoked.
  @Test func cancelledDeviceSignIn_revokesLateTokens() throws {
    for seed in Seeds.asked(100) {
      try scenario(seed: seed) { world in
        let begun = try await Begun(world)
        try begun.approve()
        let gate = Gate()
        world.network.next("/token", .heldAfter(gate))
        await gate.reached()
        #expect(await begun.client.call("signIn.cancel", #"{"signIn":"\#(begun.id)"}"#).error == nil)
        #expect(!begun.provider.idp.activeRefreshTokens().isEmpty)
        gate.open()
        #expect(await begun.ended().reason == "cancelled", "seed \(seed)")
        try await begun.leftNothing()
      }
    }
  }

  @Test func lockDuringADeviceSignIn_endsIt() throws {
    try scenario { world in
      let begun = try await Begun(world)
      #expect(await begun.client.call("agent.lock").error == nil)
      try begun.approve()
      #expect(await begun.ended().code == 1001)
      #expect(await begun.client.call("agent.unlock").error == nil)
      try await begun.leftNothing()
    }
  }

  @Test func shutdownDuringADeviceSignIn_endsItAtOnce() throws {
    try scenario { world in
      let begun = try await Begun(world)
      await world.clock.sleep(for: .seconds(7))
      let before = world.clock.boot()
      let waiting = begun.client.send("signIn.wait", #"{"signIn":"\#(begun.id)"}"#)
      #expect(await begun.client.call("agent.shutdown").error == nil)
      #expect(await begun.client.answer(to: waiting).code == 1002)
      while world.isRunning { await world.clock.sleep(for: Milliseconds(10)) }
      #expect(world.clock.boot() - before < .seconds(1), "no task waits for the person any more")
    }
  }

  /// Each sign-in has its own code, and ends separately.
  @Test func deviceSignInsOfOneAccount_endSeparately() throws {
    for seed in Seeds.asked(30) {
      try scenario(seed: seed) { world in
        let scene = try await Scene.signedIn(world)
        let first = try await Begun(world, #","account":"\#(scene.account)""#, provider: scene.provider)
        let second = try await Begun(world, #","account":"\#(scene.account)""#, provider: scene.provider)
        #expect(first.code != second.code)
        try second.approve(as: "bob")
        try first.approve()
        #expect(await second.ended().reason == "identityMismatch", "seed \(seed)")
        #expect(await first.ended()["account"] == scene.account, "seed \(seed)")
        #expect(scene.works(try await scene.token()))
        await world.clock.sleep(for: .seconds(5))
        #expect(scene.idp.activeRefreshTokens(user: "bob").isEmpty, "Bob came for nothing, seed \(seed)")
      }
    }
  }

  /// A program that begins and cancels in a loop leaves no sleeping task.
  @Test func cancelledSignIns_leaveNoSleepingTask() throws {
    try scenario { world in
      _ = try await world.provider("idp")
      let client = try world.client()
      let before = world.clock.sleeping
      for index in 0..<300 {
        let flow = ["device", "browser", "paste"][index % 3]
        let begun = await client.call("signIn.begin", #"{"provider":"idp","flow":"\#(flow)"}"#)
        let id = try #require(begun["signIn"], "\(begun)")
        #expect(await client.call("signIn.cancel", #"{"signIn":"\#(id)"}"#).error == nil)
      }
      #expect(world.clock.sleeping - before < 8)
      #expect(world.network.count("/token") == 0)
    }
  }

  /// A program that begins sign-ins and finishes none leaves eight places to the others, whatever it does.
  @Test func clientWithSixteenSignIns_leavesRoomForAnother() throws {
    try scenario { world in
      _ = try await world.provider("idp")
      let begin = #"{"provider":"idp","flow":"device"}"#
      func client(_ name: String) async throws -> SimulatedClient {
        let client = try world.client()
        _ = await client.call("agent.hello", #"{"client":{"name":"\#(name)","version":"1"}}"#)
        return client
      }
      for connection in 0..<20 {
        let greedy = try await client("greedy")
        let answer = await greedy.call("signIn.begin", begin)
        #expect((answer.error == nil) == (connection < 16), "\(answer)")
        if connection >= 16 {
          #expect(answer.code == 1003 && answer.retryAfterMs == 10_000)
          let message = answer.json["error", "message"]?.stringValue ?? ""
          #expect(message.contains("16 sign-ins of this program") && message.contains("lanyard login"), "\(message)")
        }
        greedy.disconnect()
      }
      let other = try await client("other")
      for _ in 0..<8 { #expect(await other.call("signIn.begin", begin).error == nil) }
      let third = try await client("third")
      let refused = await third.call("signIn.begin", begin)
      let message = refused.json["error", "message"]?.stringValue ?? ""
      #expect(refused.code == 1003 && message.hasPrefix("24 sign-ins are in progress"), "\(message)")
    }
  }

  /// All flows of one client share one limit, also when they begin at once.
  @Test func signInsOverTheLimitOfSixteen_areRefused() throws {
    for seed in Seeds.asked(30) {
      try scenario(seed: seed) { world in
        _ = try await world.provider("idp")
        let client = try world.client()
        let flows = ["device", "browser", "paste"]
        let begun = await withTaskGroup(of: SimulatedAnswer.self) { group in
          for index in 0..<40 {
            group.addTask { await client.call("signIn.begin", #"{"provider":"idp","flow":"\#(flows[index % 3])"}"#) }
          }
          return await group.reduce(into: []) { $0.append($1) }
        }
        let ids = begun.compactMap { $0["signIn"] }
        #expect(ids.count == 16, "seed \(seed)")
        #expect(begun.filter { $0["signIn"] == nil }.allSatisfy { $0.code == 1003 }, "seed \(seed)")
        for id in ids { #expect(await client.call("signIn.cancel", #"{"signIn":"\#(id)"}"#).error == nil) }
        #expect(world.browser.listening.isEmpty)
        #expect(await client.call("signIn.begin", #"{"provider":"idp","flow":"device"}"#).error == nil)
      }
    }
  }
}
