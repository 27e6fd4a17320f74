import AgentModel
import AgentSimulation
import PracticeProvider
import Testing

/// Refresh tokens of other programs that come at the same moment.
@Suite(.tellsItsSeed) struct ImportTests {
  /// Alice is signed in, and twelve others are known to the provider.
  private func begin(_ world: SimulatedWorld) async throws -> Scene {
    var options = Scene.options
    options.users += (0..<12).map { PracticeUser(name: "person-\($0)") }
    return try await Scene.signedIn(world, options: options)
  }

  /// Each person's refresh token, sent over one connection in one go.
  private func importAll(
    _ persons: [(name: String, alias: String?)], _ scene: Scene, _ world: SimulatedWorld
  ) async throws -> [SimulatedAnswer] {
    let client = try world.client()
    let asked = try persons.map { person in
      let token = try #require(try scene.idp.signIn(user: person.name).refreshToken)
      let alias = person.alias.map { #","alias":"\#($0)""# } ?? ""
      return client.send("signIn.import", #"{"provider":"idp","refreshToken":"\#(token)"\#(alias)}"#)
    }
    var answers: [SimulatedAnswer] = []
    for id in asked { answers.append(await client.answer(to: id)) }
    return answers
  }

  @Test func importsAtOnce_shareCommits() throws {
    for seed in Seeds.asked(10) {
      try scenario(seed: seed) { world in
        let scene = try await begin(world)
        let before = world.commits
        let answers = try await importAll((0..<12).map { ("person-\($0)", nil) }, scene, world)
        let accounts = answers.compactMap { $0["account"] }
        #expect(Set(accounts).count == 12, "seed \(seed): \(answers)")
        // Each has four: the request, its mark, the answer, the account.
        #expect(world.commits - before < 4 * 12, "seed \(seed): \(world.commits - before) commits for 12 imports")
        for account in accounts {
          let told = try await world.client().call("token.get", #"{"account":"\#(account)"}"#)
          #expect(scene.works(told), "seed \(seed): \(told)")
        }
        try await world.restart()
        for account in accounts {
          let told = try await world.client().call("token.get", #"{"account":"\#(account)"}"#)
          #expect(scene.works(told), "seed \(seed), after a restart: \(told)")
        }
      }
    }
  }

  /// What depends on one another is judged one after the other.
  @Test func importsAtOnce_ofOnePersonOrUnderOneAlias() throws {
    for seed in Seeds.asked(20) {
      try scenario(seed: seed) { world in
        let scene = try await begin(world)
        let persons: [(String, String?)] = [
          ("bob", nil), ("bob", nil), ("person-1", "both"), ("person-2", "both"),
        ]
        let answers = try await importAll(persons, scene, world)
        #expect(answers[0]["account"] == answers[1]["account"] && answers[0].error == nil, "seed \(seed): \(answers)")
        #expect(answers[2...].filter { $0.error == nil }.count == 1, "seed \(seed): \(answers)")
        #expect(answers[2...].filter { $0.code == 2002 }.count == 1, "seed \(seed): \(answers)")
        let account = try #require(answers[0]["account"])
        let client = try world.client()
        for method in ["token.get", "token.refresh"] {
          let told = await client.call(method, #"{"account":"\#(account)"}"#)
          #expect(scene.works(told), "seed \(seed): \(told)")
        }
      }
    }
  }

  private static func params(_ token: String, _ more: String = "") -> String {
    #"{"provider":"idp","refreshToken":"\#(token)"\#(more)}"#
  }

  /// The provider would end the session if the spent token came back.
  @Test func tokenThatWasImportedBefore_isNotSentAgain() throws {
    try scenario { world in
      let scene = try await begin(world)
      let token = try #require(try scene.idp.signIn(user: "bob").refreshToken)
      let account = try #require(try await world.client().call("signIn.import", Self.params(token))["account"])
      let selector = #"{"account":"\#(account)"}"#
      for isRestarted in [false, true] {
        if isRestarted { try await world.restart() }
        let client = try world.client()
        #expect(scene.works(await client.call("token.refresh", selector)))
        let sent = world.network.count("/token")
        let again = await client.call("signIn.import", Self.params(token))
        #expect(again["account"] == account, "\(again)")
        #expect(world.network.count("/token") == sent)
        #expect(scene.works(await client.call("token.refresh", selector)))
      }
    }
  }

  /// The later imports find what the first one brought, or try themselves if it failed.
  @Test(arguments: [false, true]) func importsAtOnceOfOneToken_sendItOnce(firstFails: Bool) throws {
    for seed in Seeds.asked(20) {
      try scenario(seed: seed) { world in
        let scene = try await begin(world)
        let token = try #require(try scene.idp.signIn(user: "bob").refreshToken)
        if firstFails { scene.idp.enqueueFault("/token", .status(503)) }
        let sent = world.network.count("/token")
        var asked: [(client: SimulatedClient, id: Int)] = []
        for _ in 0..<3 {
          let client = try world.client()
          asked.append((client, client.send("signIn.import", Self.params(token))))
        }
        var answers: [SimulatedAnswer] = []
        for (client, id) in asked { answers.append(await client.answer(to: id)) }
        #expect(Set(answers.compactMap { $0["account"] }).count == 1, "seed \(seed): \(answers)")
        #expect(answers.count { $0.error != nil } == (firstFails ? 1 : 0), "seed \(seed): \(answers)")
        #expect(world.network.count("/token") == sent + (firstFails ? 2 : 1), "seed \(seed)")
        let account = try #require(answers.compactMap { $0["account"] }.first)
        let told = try await world.client().call("token.refresh", #"{"account":"\#(account)"}"#)
        #expect(scene.works(told), "seed \(seed): \(told)")
      }
    }
  }

  /// Whether it is used up, the provider knows: one that does not rotate takes it again.
  @Test(arguments: [RefreshTokenRotation.strict, .none])
  func tokenOfASessionThatWasSignedOut_isLeftToTheProvider(rotation: RefreshTokenRotation) throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world, rotation: rotation)
      let client = try world.client()
      let token = try #require(try scene.idp.signIn(user: "bob").refreshToken)
      let account = try #require(await client.call("signIn.import", Self.params(token))["account"])
      if rotation == .none { scene.idp.enqueueFault("/revoke", .status(503, count: nil)) }
      let out = await client.call("account.signOut", #"{"account":"\#(account)","mode":"soft"}"#)
      #expect(out.error == nil, "\(out)")
      await world.clock.sleep(for: .seconds(5))
      let again = await client.call("signIn.import", Self.params(token))
      if rotation == .none {
        #expect(again["account"] == account, "\(again)")
      } else {
        #expect((again.code, again.reason) == (2007, "refused"), "\(again)")
        #expect("\(again)".contains("was taken over before"), "\(again)")
      }
    }
  }

  @Test func importsAtOnce_areLoggedUnderTheClientThatAsked() throws {
    for seed in Seeds.asked(10) {
      try scenario(seed: seed) { world in
        let scene = try await begin(world)
        var asked: [(client: SimulatedClient, id: Int)] = []
        for number in 0..<6 {
          let client = try world.client()
          _ = await client.call("agent.hello", #"{"client":{"name":"desk-\#(number)","version":"1"}}"#)
          let token = try #require(try scene.idp.signIn(user: "person-\(number)").refreshToken)
          asked.append((client, client.send("signIn.import", #"{"provider":"idp","refreshToken":"\#(token)"}"#)))
        }
        var clients: [String: String] = [:]
        for (number, (client, id)) in asked.enumerated() {
          clients[try #require(await client.answer(to: id)["account"])] = "desk-\(number)"
        }
        let log = try await world.client().call("audit.list", #"{"limit":1000}"#)
        let entries = log.result?["entries"]?.arrayValue ?? []
        for (account, client) in clients {
          let named = entries.filter { $0["event"]?.stringValue == "signIn" && $0["account"]?.stringValue == account }
          #expect(named.map { $0["client"]?.stringValue } == [client], "seed \(seed): \(named)")
        }
      }
    }
  }

  /// An import that was answered is on the disk, and one that is not on the disk was not answered.
  @Test func importsAtOnce_survivePowerLoss() throws {
    for seed in Seeds.asked(10) {
      for commit in 1...8 {
        try scenario(seed: seed) { world in
          let scene = try await begin(world)
          world.crash(at: seed % 2 == 0 ? .before(commit) : .after(commit))
          let answers = try await importAll((0..<6).map { ("person-\($0)", nil) }, scene, world)
          try await world.restart()
          for account in answers.compactMap({ $0["account"] }) {
            let told = try await world.client().call("account.get", #"{"account":"\#(account)"}"#)
            #expect(told.error == nil, "seed \(seed), commit \(commit): \(told)")
          }
        }
      }
    }
  }
}
