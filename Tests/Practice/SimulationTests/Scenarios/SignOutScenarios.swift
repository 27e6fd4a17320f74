import AgentModel
import AgentSimulation
import PracticeProvider
import StorageFaults
import Testing

/// A sign-out that dies at every operation of the store, during another operation: afterwards the account is signed in
/// or signed out, and its token is usable, queued for revocation, or dead: exactly one of these.
@Suite(.tellsItsSeed) struct SignOutScenarios {
  enum Meanwhile: CaseIterable {
    case nothing, refresh, samePersonSignsIn, anotherPersonSignsIn, reconnect
  }

  static let modes = ["soft", "hard", "offline"]

  @Test(arguments: modes, Meanwhile.allCases)
  func signOutKilledAtEveryCommit_isWhollyDoneOrNot(mode: String, meanwhile: Meanwhile) throws {
    for number in 1... {
      var reached = false
      for moment in [CommitMoment.before(number), .after(number)] {
        let world = SimulatedWorld(seed: UInt64(number))
        reached = try world.run { world in
          let chance = Chance(seed: UInt64(number))
          var story = try await SignOutStory.begin(world, chance, mode: mode, meanwhile: meanwhile)
          let hasDied = try await story.happen { world.crash(at: moment) }
          try await story.isWhollyInOrOut("\(mode), \(meanwhile), killed \(moment)")
          return hasDied
        }
      }
      guard reached else { break }
      try #require(number < 30)
    }
  }

  /// A random disk operation, schedule and latency, sometimes with a power loss.
  @Test func signOutKilledAtAnyOperation_isWhollyDoneOrNot() async throws {
    try await everySeed { world, chance in
      let mode = chance.one(of: Self.modes)
      let meanwhile = chance.one(of: Meanwhile.allCases)
      var story = try await SignOutStory.begin(world, chance, mode: mode, meanwhile: meanwhile)
      let step = chance.number(1...150)
      let death = chance.coin() ? SimulatedDisk.Death.kill : .powerLoss(seed: world.seed)
      _ = try await story.happen { world.failDisk(.die(death), at: step) }
      try await story.isWhollyInOrOut("\(mode), \(meanwhile), \(death) at \(step)")
    }
  }
}

/// One sign-out of Alice, the events during it, and the checks afterwards.
struct SignOutStory {
  let scene: Scene
  let chance: Chance
  let mode: String
  let meanwhile: SignOutScenarios.Meanwhile
  private var out = SimulatedAnswer.lost

  private var world: SimulatedWorld { scene.world }

  static func begin(
    _ world: SimulatedWorld, _ chance: Chance, mode: String, meanwhile: SignOutScenarios.Meanwhile
  ) async throws -> SignOutStory {
    var options = Scene.options
    // A token issued to a dying process can be revoked only through the token before it.
    options.revocationReach = chance.one(of: [.family, .grant])
    let scene = try await Scene.signedIn(
      world, options: options,
      more: #","refresh":{"reuse":"strict","onUnknownOutcome":"reauthenticate"},"#
        + #""revocationScope":"\#(options.revocationReach.rawValue)""#)
    let story = SignOutStory(scene: scene, chance: chance, mode: mode, meanwhile: meanwhile)
    _ = await story.call("secret.put", #"{"account":"work","name":"draft","value":"words"}"#)
    switch meanwhile {
    case .refresh: await scene.expireUnused()
    case .reconnect:
      try await world.signIn("bob", at: scene.provider, alias: "home")
      world.network.isOnline = false
      let away = await story.call("account.signOut", #"{"account":"home","mode":"soft"}"#)
      #expect(away["revocation"] == "queued", "\(away)")
    default: break
    }
    return story
  }

  private init(scene: Scene, chance: Chance, mode: String, meanwhile: SignOutScenarios.Meanwhile) {
    self.scene = scene
    self.chance = chance
    self.mode = mode
    self.meanwhile = meanwhile
  }

  /// `.lost` if no agent runs.
  private func call(_ method: String, _ params: String = "{}") async -> SimulatedAnswer {
    guard let client = try? world.client() else { return .lost }
    defer { client.disconnect() }
    return await client.call(method, params)
  }

  // MARK: events

  /// Signs out during the other operation, with the planned death. False if the death did not come.
  mutating func happen(_ plan: () -> Void) async throws -> Bool {
    let (world, mode) = (world, mode)
    let crowd = try Crowd(world, clients: 2)
    plan()
    var waiting: [Crowd.Request] = []
    switch meanwhile {
    case .refresh:
      // By its id: a hard sign-out takes the alias away.
      waiting = crowd.ask(
        chance.number(1...4), chance.one(of: ["token.get", "token.refresh"]), #"{"account":"\#(scene.account)"}"#)
    case .reconnect:
      world.network.isOnline = true
      waiting = crowd.ask(1, "connectivity.report", #"{"online":true}"#)
    default: break
    }
    async let signing = signIn()
    await world.clock.sleep(for: chance.milliseconds(0...90))
    out = await call("account.signOut", #"{"account":"work","mode":"\#(mode)"}"#)
    _ = await signing
    for answer in await crowd.answers(waiting) where !answer.isLost && meanwhile == .refresh {
      if answer.error != nil { answer.isExpected(2003, account: scene.account) }
    }
    await world.clock.sleep(for: .seconds(2))
    let hasDied = !world.isRunning
    if !hasDied { crowd.wasAnsweredOnce(waiting.count) }
    try await world.restart()
    return hasDied
  }

  private func signIn() async {
    switch meanwhile {
    case .samePersonSignsIn: _ = try? await world.signIn("alice", at: scene.provider, again: scene.account)
    case .anotherPersonSignsIn: _ = try? await world.signIn("carol", at: scene.provider, alias: "third")
    default: break
    }
  }

  // MARK: checks

  /// The account's sign-ins and sign-outs in the audit log.
  private func history() async throws -> [String] {
    let entries = try #require(
      await call("audit.list", #"{"account":"\#(scene.account)","limit":1000}"#).result?["entries"])
    return (entries.arrayValue ?? []).compactMap { $0["event"]?.stringValue }.filter {
      $0 == "signIn" || $0 == "account.signOut"
    }
  }

  func isWhollyInOrOut(_ comment: Comment) async throws {
    let history = try await history()
    #expect(out.isLost || out.error == nil, "\(comment): \(out)")
    #expect(await call("audit.verify").result?["intact"]?.boolValue == true, comment)
    if !out.isLost { #expect(history.contains("account.signOut"), "\(comment): answered, and not in the log") }
    let state = try await scene.account()["state"]
    #expect((state == "signedOut") == (history.last == "account.signOut"), "\(comment): \(history), \(state ?? "-")")
    if state == "signedOut" {
      try await isOut(history, comment)
    } else {
      try await isIn(history, comment)
    }
    try await othersAreWell(comment)
    // No request is in flight when the world ends.
    await world.clock.sleep(for: .seconds(2))
  }

  private func isOut(_ history: [String], _ comment: Comment) async throws {
    for method in ["token.get", "token.refresh"] {
      try await scene.token(method: method).isExpected(2003, account: scene.account)
    }
    let read = await call("secret.get", #"{"account":"\#(scene.account)","name":"draft"}"#)
    #expect(read.code == (mode == "hard" ? 2003 : 2008), "\(comment): \(read)")
    #expect(await call("account.get", #"{"account":"@active"}"#)["account"] != scene.account, comment)
    try await everythingIsSent(comment)
    // A grant other than the account's last one was replaced by the provider.
    if history.filter({ $0 == "signIn" }).count == 1 {
      #expect(scene.idp.endOfGrant(scene.grant) != nil, "\(comment): a live token without an account")
    }
    // The same person signs in again, and no late revocation follows.
    let again = try await world.signIn("alice", at: scene.provider)
    #expect(again == scene.account, comment)
    let found = await call("secret.get", #"{"account":"\#(scene.account)","name":"draft"}"#)
    #expect(mode == "hard" ? found.code == 6003 : found["value"] == "words", "\(comment): \(found)")
    await world.clock.sleep(for: .seconds(86_400))
    let token = try await scene.token()
    #expect(scene.works(token), "\(comment): \(token)")
  }

  private func isIn(_ history: [String], _ comment: Comment) async throws {
    let wasOut = history.contains("account.signOut")
    let token = try await scene.token()
    // An interrupted refresh has an unknown outcome, as without a sign-out. A revocation of a whole grant that was sent
    // before the sign-in ended can end the new grant: then the agent reports it, and serves no dead token as valid.
    let isOvertaken = wasOut && scene.idp.options.revocationReach == .grant
    let mayBeDead = meanwhile == .refresh || isOvertaken
    if !mayBeDead || token.code != 2004 { #expect(scene.works(token), "\(comment): \(token)") }
    let read = await call("secret.get", #"{"account":"\#(scene.account)","name":"draft"}"#)
    #expect(wasOut && mode == "hard" ? read.code == 6003 : read["value"] == "words", "\(comment): \(read)")
    try await everythingIsSent(comment)
    if wasOut {
      #expect(meanwhile == .samePersonSignsIn, comment)
      let isOld = scene.idp.endOfGrant(scene.grant) == nil
      #expect(!isOld || scene.idp.options.revocationReach == .grant, "\(comment): the old token lives")
    } else if history.filter({ $0 == "signIn" }).count > 1 {
      // The second sign-in replaced the grant without a sign-out: its refresh token is revoked.
      #expect([nil, "revoked"].contains(scene.idp.endOfGrant(scene.grant)), comment)
    } else {
      #expect(
        scene.idp.endOfGrant(scene.grant) == nil,
        "\(comment): revoked (\(scene.idp.endOfGrant(scene.grant) ?? "")), and not signed out: \(history)")
    }
    await scene.expireUnused()
    let later = try await scene.token()
    if token.code != 2004 { #expect(scene.works(later), "\(comment): \(later)") }
  }

  /// Expects that queued revocations are sent without a request once there is a connection.
  private func everythingIsSent(_ comment: Comment) async throws {
    _ = await call("connectivity.report", #"{"online":true}"#)
    await world.clock.sleep(for: .seconds(600))
    let left = await call("revocation.list").result?["revocations"]?.arrayValue
    #expect(left?.isEmpty == true, "\(comment): \(left ?? [])")
  }

  private func othersAreWell(_ comment: Comment) async throws {
    switch meanwhile {
    case .reconnect:
      #expect(scene.idp.activeRefreshTokens(user: "bob").isEmpty, comment)
    case .anotherPersonSignsIn:
      let third = try await scene.tokenOf("third")
      #expect(third.code == 2001 || scene.works(third), "\(comment): \(third)")
    default: break
    }
  }
}
