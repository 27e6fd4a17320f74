import AgentModel
import AgentPorts
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
    return try instant(json)
  }

  private static func instant(_ json: PracticeJSON?) throws -> Timestamp {
    let reader = ISO8601DateFormatter()
    reader.formatOptions = [.withInternetDateTime, .withFractionalSeconds]
    let date = try #require(json?.stringValue.flatMap(reader.date), "\(String(describing: json))")
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
      let checked = await client.call("authorization.check", #"{"account":"\#(scene.account)","capability":"read"}"#)
      let rest = try Self.instant(checked, "validUntil") - Self.instant(checked, "time", "now")
      #expect(rest.wholeSeconds == checked.result?["validForSeconds"]?.integerValue, "\(checked)")
      #expect(abs((try Self.instant(checked, "time", "now") - now).count) < seconds.count, "\(checked)")

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

  /// The client says an end by the machine's clock, and reads it beside the moment at which it enqueued.
  @Test(arguments: [-1, 0, 1]) func endOfAnOperation_isToldOnTheClockOfItsOtherInstants(hours: Int64) throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world)
      let client = try world.client()
      #expect(await client.call("policy.set", Self.policy).error == nil)
      scene.idp.setClockOffset(milliseconds: hours * 3_600_000)
      #expect(scene.works(try await scene.token(method: "token.refresh")))
      let end = (world.clock.wall() + .seconds(600)).rfc3339
      let made = await client.call(
        "operation.enqueue", #"{"account":"\#(scene.account)","capability":"read","expiresAt":"\#(end)"}"#)
      let operation = try #require(made.result?["operation"]?.stringValue, "\(made)")
      let told = await client.call(
        "operation.get", #"{"account":"\#(scene.account)","operation":"\#(operation)"}"#)
      let left = try Self.instant(told, "expiresAt") - Self.instant(told, "enqueuedAt")
      #expect(abs(left.count - 600_000) < 2000, "\(told)")
    }
  }

  /// A list has objects of several providers, and no member could tell whose clock an instant is by.
  @Test func wrongMachineClock_listsStandOnTheMachinesClock() throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world)
      let other = try await world.provider("other", options: Scene.options)
      other.idp.setClockOffset(milliseconds: 10 * 86_400_000)
      try await world.signIn("bob", at: other, alias: "home")
      let client = try world.client()
      func isNow(_ instant: Timestamp) -> Bool { abs((instant - world.clock.wall()).count) < 60_000 }
      let accounts = await client.call("account.list").result?["accounts"]?.arrayValue ?? []
      #expect(accounts.count == 2)
      for account in accounts {
        #expect(isNow(try Self.instant(account["lastOnlineAuthAt"])), "\(account)")
        #expect(isNow(try Self.instant(account["createdAt"])), "\(account)")
      }
      world.network.next("/revoke", .notConnected(.unreachable), times: nil)
      for account in [scene.account, "home"] {
        _ = await client.call("account.signOut", #"{"account":"\#(account)","mode":"soft"}"#)
      }
      let waiting = await client.call("revocation.list").result?["revocations"]?.arrayValue ?? []
      #expect(waiting.count == 2)
      for entry in waiting {
        #expect(isNow(try Self.instant(entry["nextAttemptAt"])), "\(entry)")
        #expect(isNow(try Self.instant(entry["lastError", "at"])), "\(entry)")
      }
    }
  }

  /// A subscriber is told of the accounts of all providers, one after another: `at` and what the event tells are by one
  /// clock, that of lists.
  @Test func wrongMachineClock_eventsStandOnTheMachinesClock() throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world)
      scene.idp.setClockOffset(milliseconds: 3_600_000)
      let client = try world.client()
      #expect(await client.call("event.subscribe").error == nil)
      let pin = #"{"account":"\#(scene.account)","pin":"2468"}"#
      #expect(await client.call("stepUp.enroll", pin).error == nil)
      let token = await client.call("token.refresh", #"{"account":"\#(scene.account)"}"#)
      let lives = Milliseconds.seconds(try #require(token.result?["expiresInSeconds"]?.integerValue))
      #expect(await client.call("stepUp.verify", pin).error == nil)
      for (type, member, left) in [
        ("token.refreshed", "expiresAt", lives), ("stepUp.granted", "validUntil", Milliseconds.seconds(300)),
      ] {
        let event = try #require(client.events.first { $0["type"]?.stringValue == type })
        let at = try Self.instant(event["at"])
        #expect(abs((at - world.clock.wall()).count) < 60_000, "\(event)")
        #expect(abs((try Self.instant(event["data", member]) - at - left).count) < 2000, "\(event)")
      }
      let end = try Self.instant(token, "expiresAt") - world.clock.wall()
      #expect(end > .seconds(3000), "the answer is by the provider's clock: \(token)")
    }
  }

  /// The provider's clock is set while a token is served, and the exchange of another account shows it.
  @Test func clockOfTheProviderThatWasSet_isThatOfATokenThatIsServed() throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world)
      let home = try await world.signIn("bob", at: scene.provider, alias: "home")
      #expect(scene.works(try await scene.token()))
      scene.idp.setClockOffset(milliseconds: 3_600_000)
      let client = try world.client()
      #expect(await client.call("token.refresh", #"{"account":"\#(home)"}"#).error == nil)
      await world.clock.sleep(for: .seconds(1))
      let token = try await scene.token()
      #expect(token["source"] == "cache")
      let session = try await scene.session()
      #expect(try Self.instant(token, "expiresAt") == Self.instant(session, "accessTokenExpiresAt"), "\(token)")
    }
  }
}
