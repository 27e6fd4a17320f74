import AgentModel
import AgentPorts
import AgentSimulation
import PracticeProvider
import Testing

/// Sign-ins that wait at one fixed redirect address share its listener, and `state` tells their answers apart.
@Suite(.tellsItsSeed) struct SharedRedirectTests {
  private struct Waiting {
    var id: String
    var url: String
  }

  private static func call(_ world: SimulatedWorld, _ method: String, _ params: String = "{}") async throws
    -> SimulatedAnswer
  {
    let client = try world.client()
    defer { client.disconnect() }
    return await client.call(method, params)
  }

  /// A provider where the agent registered itself, and with it the port of its redirects.
  private static func registered(_ world: SimulatedWorld) async throws -> SimulatedProvider {
    var options = Scene.options
    options.registration = .open
    options.comparesRedirectPorts = true
    let provider = world.makeProvider("idp", options: options)
    let answer = try await Self.call(
      world, "provider.add", #"{"name":"idp","issuer":"\#(provider.idp.issuer)"}"#)
    #expect(answer.json["result", "provider", "redirect", "port"]?.integerValue != nil, "\(answer)")
    return provider
  }

  private static func begin(_ world: SimulatedWorld, at provider: String = "idp") async throws -> Waiting {
    let begun = try await Self.call(world, "signIn.begin", #"{"provider":"\#(provider)","flow":"browser"}"#)
    return Waiting(
      id: try #require(begun["signIn"], "\(begun)"), url: try #require(begun["authorizationUrl"], "\(begun)"))
  }

  private static func status(_ world: SimulatedWorld, _ signIn: Waiting) async throws -> SimulatedAnswer {
    try await Self.call(world, "signIn.wait", #"{"signIn":"\#(signIn.id)","timeoutSeconds":1}"#)
  }

  @Test(arguments: [false, true]) func twoSignInsAtOneProvider_waitAtOnce(secondFirst: Bool) throws {
    try scenario { world in
      let provider = try await Self.registered(world)
      let (alice, bob) = (try await Self.begin(world), try await Self.begin(world))
      #expect(world.browser.listening.count == 1)
      for (signIn, user) in secondFirst ? [(bob, "bob"), (alice, "alice")] : [(alice, "alice"), (bob, "bob")] {
        let page = await world.browser.visit(try provider.idp.authorize(url: signIn.url, as: user))
        #expect(page?.status == 200)
        let account = try #require(try await Self.status(world, signIn)["account"])
        let profile = try await Self.call(world, "account.get", #"{"account":"\#(account)"}"#)
        #expect(profile["subject"]?.hasPrefix(user) == true, "\(profile)")
      }
      #expect(world.browser.listening.isEmpty)
    }
  }

  /// Two providers with one address, each with a person of its own.
  @Test func signInsAtTwoProvidersWithOneAddress_waitAtOnce() throws {
    try scenario { world in
      let redirect = #","redirect":{"port":4711}"#
      let one = try await world.provider("one", options: Scene.options, more: redirect)
      let two = try await world.provider("two", options: Scene.options, more: redirect)
      let first = try await Self.begin(world, at: "one")
      let second = try await Self.begin(world, at: "two")
      #expect(await world.browser.visit(try two.idp.authorize(url: second.url, as: "bob"))?.status == 200)
      #expect(await world.browser.visit(try one.idp.authorize(url: first.url, as: "alice"))?.status == 200)
      #expect(try await Self.status(world, first)["status"] == "completed")
      #expect(try await Self.status(world, second)["status"] == "completed")
      #expect(world.browser.listening.isEmpty)
    }
  }

  /// A page of a sign-in that was cancelled or is completed ends no other one that waits at its address.
  @Test(arguments: [false, true]) func answerToAnEndedSignIn_leavesTheOtherWaiting(isCompleted: Bool) throws {
    try scenario { world in
      let provider = try await Self.registered(world)
      let (ended, waiting) = (try await Self.begin(world), try await Self.begin(world))
      let location = try provider.idp.authorize(url: ended.url, as: "alice")
      if isCompleted {
        #expect(await world.browser.visit(location)?.status == 200)
      } else {
        #expect(try await Self.call(world, "signIn.cancel", #"{"signIn":"\#(ended.id)"}"#).error == nil)
      }
      #expect(await world.browser.visit(location)?.status == 410)
      #expect(try await Self.status(world, waiting)["status"] == "pending")
      let page = await world.browser.visit(try provider.idp.authorize(url: waiting.url, as: "bob"))
      #expect(page?.status == 200)
      #expect(try await Self.status(world, waiting)["status"] == "completed")
      #expect(world.browser.listening.isEmpty)
    }
  }

  /// An answer with an unknown state ends no sign-in.
  @Test(arguments: [1, 2, 3]) func forgedAnswer_endsNone(count: Int) throws {
    try scenario { world in
      let provider = try await Self.registered(world)
      var waiting: [Waiting] = []
      for _ in 1...count { waiting.append(try await Self.begin(world)) }
      let location = try provider.idp.authorize(url: waiting[0].url, as: "alice")
      let forged = location.replacing(try Regex("state=[^&]*"), with: "state=forged")
      #expect(await world.browser.visit(forged)?.status == 400)
      for signIn in waiting { #expect(try await Self.status(world, signIn)["status"] == "pending") }
      #expect(world.network.count("/token") == 0)
      #expect(await world.browser.visit(location)?.status == 200)
    }
  }

  /// The listener closes with the last sign-in, however each ends; the vault's lock ends all.
  @Test func sharedListener_closesWithTheLastSignIn() throws {
    try scenario { world in
      let provider = try await Self.registered(world)
      let (first, second) = (try await Self.begin(world), try await Self.begin(world))
      let denied = try provider.idp.authorize(url: first.url, as: "alice").replacing(
        try Regex("code=[^&]*"), with: "error=access_denied")
      #expect(await world.browser.visit(denied)?.status == 400)
      #expect(try await Self.status(world, first).reason == "denied")
      #expect(world.browser.listening.count == 1)
      await world.clock.sleep(for: .seconds(601))
      #expect(try await Self.status(world, second).reason == "expired")
      #expect(world.browser.listening.isEmpty)
      _ = try await (Self.begin(world), Self.begin(world))
      #expect(world.browser.listening.count == 1)
      #expect(try await Self.call(world, "agent.lock").error == nil)
      #expect(world.browser.listening.isEmpty)
    }
  }
}
