import AgentModel
import AgentPorts
import AgentSimulation
import PracticeProvider
import Testing

/// The bytes of requests in flight, of all connections together (docs/protocol.md, Limits).
@Suite(.tellsItsSeed) struct RequestBodyTests {
  /// A line just under 1 MiB.
  private static let params =
    #"{"account":"work","method":"POST","url":"https://idp.test/protected","body":""#
    + String(repeating: "a", count: (1 << 20) - 1024) + #""}"#

  @Test func requestsOfLimitedCallers_takeHalfOfTheBytesAndTheOwnerIsServed() throws {
    try scenario(seed: 1) { world in
      let scene = try await Scene.signedIn(world, more: #","allowedOrigins":["https://idp.test"]"#)
      let owner = try world.client()
      let made = await owner.call("grant.create", #"{"client":"bot","accounts":["work"],"methods":["request.send"]}"#)
      let secret = try #require(made.result?["secret"]?.stringValue, "\(made)")
      // More than one connection: the bound is the agent's.
      let bots = [try world.client(), try world.client()]
      for bot in bots {
        let hello = await bot.call("agent.hello", #"{"client":{"name":"bot","version":"1"},"grant":"\#(secret)"}"#)
        try #require(hello.result != nil, "\(hello)")
      }
      for _ in 1...65 { world.network.next("/protected", .delay(.seconds(10))) }
      let sent = (0..<64).map { number in (bots[number % 2], bots[number % 2].send("request.send", Self.params)) }
      let refused = await bots[0].call("request.send", Self.params)
      #expect(refused.error?["code"]?.integerValue == 1003)
      #expect(refused.error?["data"]?["outcome"]?.stringValue == "notSent")
      #expect(refused.error?["data"]?["retryable"]?.boolValue == true)
      let short = await bots[0].call("request.send", #"{"account":"work","method":"GET","url":"https://idp.test/x"}"#)
      #expect(short.result?["status"]?.integerValue == 404, "a short request does not count: \(short)")
      let own = await owner.call("request.send", Self.params)
      #expect(own.result?["status"]?.integerValue == 200, "\(own)")
      for (bot, id) in sent {
        let answer = await bot.answer(to: id)
        #expect(answer.result?["status"]?.integerValue == 200, "\(answer)")
      }
      let next = await bots[1].call("request.send", Self.params)
      #expect(next.result?["status"]?.integerValue == 200, "\(next)")
      #expect(scene.idp.requestCount(to: "/protected") == 66)
      for client in bots + [owner] { client.disconnect() }
    }
  }
}
