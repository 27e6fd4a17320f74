import AgentModel
import AgentSimulation
import Foundation
import PracticeProvider
import Testing

/// All instants of one answer stand on one clock (docs/offline.md, Time).
@Suite struct InstantsTests {
  private static let policy = #"""
    {"name":"default","policy":{"name":"default","version":1,"capabilities":{"read":{"kind":"read","offlineWindowSeconds":604800}}}}
    """#

  private static func instant(_ answer: SimulatedAnswer, _ path: String...) throws -> Timestamp {
    var json = answer.result
    for name in path { json = json?[name] }
    let reader = ISO8601DateFormatter()
    reader.formatOptions = [.withInternetDateTime, .withFractionalSeconds]
    let date = try #require(json?.stringValue.flatMap(reader.date), "\(path) in \(answer)")
    return Timestamp(milliseconds: Int64((date.timeIntervalSince1970 * 1000).rounded()))
  }

  /// A machine whose clock is three days off, either way, at a provider that told its time.
  @Test(arguments: [-3, 0, 3]) func wrongMachineClock_changesNoDifferenceOfInstants(days: Int64) throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world)
      let client = try world.client()
      #expect(await client.call("policy.set", Self.policy).error == nil)
      world.clock.setWall(world.clock.trueTime + .seconds(days * 86_400))
      #expect(scene.works(try await scene.token(method: "token.refresh")))
      let assume = #","assume":{"clock":"trusted"}"#
      let decision = await client.call(
        "policy.explain", #"{"account":"\#(scene.account)","capability":"read"\#(assume)}"#)
      let now = try Self.instant(decision, "time", "now")
      let left = try Self.instant(decision, "validUntil") - now
      #expect(left.wholeSeconds == decision.result?["validForSeconds"]?.integerValue, "\(decision)")
      let seconds = Milliseconds.seconds(2)
      #expect(abs((now - world.clock.trueTime).count) < seconds.count, "the provider's time: \(decision)")

      let token = try await scene.token()
      let lives = try #require(token.result?["expiresInSeconds"]?.integerValue)
      #expect(abs((try Self.instant(token, "expiresAt") - now).count - lives * 1000) < seconds.count, "\(token)")
      let session = try await scene.session()
      #expect(try Self.instant(session, "accessTokenExpiresAt") == Self.instant(token, "expiresAt"))
      for name in ["since", "lastOnlineAuthAt"] {
        #expect(abs((try Self.instant(session, name) - now).count) < 10_000, "\(name): \(session)")
      }
      #expect(try Self.instant(session, "offlineGraceUntil") - now <= .seconds(604_800))
      let account = try await scene.account()
      #expect(try Self.instant(account, "lastOnlineAuthAt") == Self.instant(session, "lastOnlineAuthAt"))
    }
  }
}
