import AgentModel
import AgentPorts
import AgentSimulation
import PracticeProvider
import Testing

/// `request.send` while tokens are refused and answers are lost.
@Suite(.tellsItsSeed) struct RequestScenarios {
  /// An account whose access token the resource server refuses, and that the agent takes for fresh.
  private static func withARefusedToken(_ world: SimulatedWorld) async throws -> Scene {
    let scene = try await Scene.signedIn(world, more: #","allowedOrigins":["https://idp.test"]"#)
    scene.idp.enqueueFault("/token", Fault(.changeAnswer(["expires_in": 1_000_000])))
    _ = try await scene.token(method: "token.refresh")
    await scene.expireUnused()
    await world.clock.sleep(for: .seconds(3600))
    return scene
  }

  private static func params(_ method: String, _ number: Int, _ more: String = "") -> String {
    #"{"account":"work","method":"\#(method)","url":"https://idp.test/protected?number=\#(number)"\#(more)}"#
  }

  /// How often each request was sent, by its number.
  private static func sent(_ world: SimulatedWorld) -> [Int: Int] {
    world.network.sent.filter { $0.path == "/protected" }.reduce(into: [:]) { counts, sent in
      let number = sent.url.split(separator: "=").last.flatMap { Int($0) } ?? -1
      counts[number, default: 0] += 1
    }
  }

  /// Fifty requests at once meet a refused token: one exchange serves them all.
  @Test func fiftyRefusedRequests_shareOneExchange() async throws {
    try await everySeed(200) { world, chance in
      let scene = try await Self.withARefusedToken(world)
      let before = scene.refreshes.count
      let crowd = try Crowd(world, clients: chance.number(1...6))
      var requests: [(number: Int, method: String, hasKey: Bool, request: Crowd.Request)] = []
      for number in 0..<50 {
        let method = chance.one(of: ["GET", "HEAD", "POST", "DELETE"])
        let hasKey = chance.coin()
        let asked = crowd.ask(
          1, "request.send", Self.params(method, number, hasKey ? #","idempotencyKey":"key-\#(number)""# : ""))
        requests.append((number, method, hasKey, asked[0]))
      }
      let answers = await crowd.answers(requests.map(\.request))
      #expect(scene.refreshes.count == before + 1)
      let sent = Self.sent(world)
      for (request, answer) in zip(requests, answers) {
        let status = answer.result?["status"]?.integerValue
        let isSentAgain = request.hasKey || ["GET", "HEAD"].contains(request.method)
        // A write without a key is answered with the refusal, unless it was sent with the new token already.
        #expect(status == 200 || !isSentAgain && status == 401, "\(answer)")
        #expect((1...(isSentAgain ? 2 : 1)).contains(sent[request.number] ?? 0), "\(answer)")
      }
      crowd.wasAnsweredOnce(50)
    }
  }

  /// Answers are lost and connections fail at random, also after a refusal: a write without a key is sent once at most,
  /// one with a key twice, and each error tells whether the request was sent.
  @Test func lostAnswers_neverDoubleAWrite() async throws {
    try await everySeed { world, chance in
      _ = chance.coin() ? try await Self.withARefusedToken(world) : try await Self.signedIn(world)
      let crowd = try Crowd(world, clients: 2)
      let count = chance.number(1...8)
      for _ in 0..<chance.number(0...count) {
        world.network.next("/protected", Self.incident(chance))
      }
      var requests: [(number: Int, hasKey: Bool, request: Crowd.Request)] = []
      for number in 0..<count {
        let hasKey = chance.coin()
        let more = (hasKey ? #","idempotencyKey":"key-\#(number)""# : "") + #","timeoutSeconds":20"#
        requests.append((number, hasKey, crowd.ask(1, "request.send", Self.params("POST", number, more))[0]))
      }
      let answers = await crowd.answers(requests.map(\.request))
      let sent = Self.sent(world)
      for (request, answer) in zip(requests, answers) {
        #expect((sent[request.number] ?? 0) <= (request.hasKey ? 2 : 1), "\(answer)")
        if let attempts = answer.result?["attempts"]?.integerValue {
          #expect(Int(attempts) == sent[request.number], "\(answer)")
        } else if sent[request.number] != nil {
          let outcome = answer.error?["data"]?["outcome"]?.stringValue
          #expect(outcome == "notSent" || outcome == "unknown", "\(answer)")
          let isRetryable = answer.error?["data"]?["retryable"] == .bool(true)
          #expect(!isRetryable || request.hasKey || outcome == "notSent", "\(answer)")
        }
      }
      crowd.wasAnsweredOnce(count)
    }
  }

  /// The server refuses a write, and the token can't be replaced: the caller is told the refusal, and never that the write
  /// may have been performed.
  @Test func refusedWriteWithoutANewToken_isAnsweredWithTheRefusal() async throws {
    try await everySeed { world, chance in
      let scene = try await Self.withARefusedToken(world)
      switch chance.number(0...4) {
      case 0: world.network.next("/token", .notConnected(.refused))
      case 1: world.network.next("/token", .lostRequest(chance.one(of: [.reset, .timedOut])))
      case 2: scene.idp.enqueueFault("/token", .status(503))
      case 3: scene.idp.enqueueFault("/token", .status(400, #"{"error":"invalid_grant"}"#))
      default: world.network.next("/token", .untrusted(.expired))
      }
      let more = (chance.coin() ? #","idempotencyKey":"one""# : "") + (chance.coin() ? #","timeoutSeconds":20"# : "")
      let method = chance.one(of: ["POST", "PUT", "DELETE"])
      let answer = try await world.client().call("request.send", Self.params(method, 1, more))
      #expect(answer.result?["status"]?.integerValue == 401, "\(answer)")
      #expect(answer.result?["refreshed"] == .bool(false) && Self.sent(world) == [1: 1], "\(answer)")
    }
  }

  private static func signedIn(_ world: SimulatedWorld) async throws -> Scene {
    try await Scene.signedIn(world, more: #","allowedOrigins":["https://idp.test"]"#)
  }

  private static func incident(_ chance: Chance) -> Incident {
    switch chance.number(0...5) {
    case 0: .notConnected(chance.one(of: [.refused, .timedOut, .unreachable]))
    case 1: .lostRequest(chance.one(of: [.reset, .timedOut]))
    case 2: .lostAnswer(chance.one(of: [.reset, .timedOut, .malformed]))
    case 3: .delay(chance.seconds(0...30))
    case 4: .intercepted(status: 401, fields: [], body: "")
    default: .untrusted(.expired)
    }
  }
}
