import AgentModel
import AgentSimulation
import PracticeProvider
import Testing

/// Budgets of capabilities, whatever the order of the callers (docs/offline.md, Budgets).
@Suite(.tellsItsSeed) struct BudgetTests {
  private static let policy = #"""
    {"name":"default","policy":{"name":"default","version":1,"capabilities":{"mail":{"kind":"read","offlineWindowSeconds":86400,\#
    "audit":"batched","budget":{"perHour":5},"requests":[{"origin":"https://idp.test","methods":["POST"],"path":"/mail"}]}}}}
    """#

  private static func isAllowed(_ answer: SimulatedAnswer) -> Bool {
    answer["effect"] == "allow" || answer["tokenType"] != nil
  }

  /// B1, B2: checks and requests for tokens at once, on connections of their own.
  @Test func callersAtOnce_takeNoMoreThanTheBudget() throws {
    for seed in Seeds.asked(100) {
      try scenario(seed: seed) { world in
        let scene = try await Scene.signedIn(world, more: #","allowedOrigins":["https://idp.test"]"#)
        let owner = try world.client()
        #expect(await owner.call("policy.set", Self.policy).error == nil)
        var asked: [(SimulatedClient, Int)] = []
        for number in 0..<12 {
          let client = try world.client()
          let id =
            number % 2 == 0
            ? client.send("authorization.check", #"{"account":"\#(scene.account)","capability":"mail"}"#)
            : client.send(
              "request.authorize",
              #"{"account":"\#(scene.account)","method":"POST","url":"https://idp.test/mail"}"#)
          asked.append((client, id))
        }
        var allowed = 0
        for (client, id) in asked where Self.isAllowed(await client.answer(to: id)) { allowed += 1 }
        #expect(allowed == 5, "seed \(seed)")
        try await world.restart()
        let after = try await world.client().call(
          "authorization.check", #"{"account":"\#(scene.account)","capability":"mail"}"#)
        #expect(after["reason"] == "budgetExceeded", "seed \(seed): \(after)")
      }
    }
  }

  /// The repeat of a request whose token the server refused takes no use, once for each token that was given.
  @Test func repeatAfterARefusedToken_takesNoUse() throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world, more: #","allowedOrigins":["https://idp.test"]"#)
      let client = try world.client()
      #expect(await client.call("policy.set", Self.policy).error == nil)
      func authorize(_ url: String = "https://idp.test/mail", rejected: String? = nil) async -> SimulatedAnswer {
        let rejected = rejected.map { #","rejected":"\#($0)""# } ?? ""
        return await client.call(
          "request.authorize", #"{"account":"\#(scene.account)","method":"POST","url":"\#(url)"\#(rejected)}"#)
      }
      var last = ""
      for _ in 0..<5 {
        last = try #require(await authorize()["fingerprint"])
        let again = await authorize(rejected: last)
        #expect(again["fingerprint"].map { $0 != last } ?? false, "\(again)")
        // Another refusal within a minute would have the person asked.
        await world.clock.sleep(for: .seconds(66))
      }
      for spent in [await authorize(), await authorize(rejected: last)] {
        #expect(spent.reason == "budgetExceeded", "\(spent)")
      }
    }
  }
}
