import AgentModel
import AgentPorts
import AgentSimulation
import PracticeProvider
import StorageFaults
import Testing

/// Requests that wait for a person, whatever happens meanwhile (docs/approvals.md): nothing is sent without a verdict that
/// is in the audit log, and every caller is answered.
@Suite(.tellsItsSeed) struct ApprovalTests {
  private static let policy = #"""
    {"name":"default","policy":{"name":"default","version":1,"capabilities":{"write":{"kind":"write","offlineWindowSeconds":86400,\#
    "approve":{"waitSeconds":30},"requests":[{"origin":"https://idp.test","methods":["POST"],"path":"/protected"}]}}}}
    """#

  /// A person, and an AI agent whose request waits.
  private struct Waiting {
    let scene: Scene
    let owner: SimulatedClient
    let robot: SimulatedClient
    let grant: String
    let request: Int
    let approval: String

    var effects: Int { scene.idp.protectedEffectCount }
  }

  private static func send(_ robot: SimulatedClient, _ scene: Scene) -> Int {
    robot.send(
      "request.send",
      #"{"account":"\#(scene.account)","method":"POST","url":"https://idp.test/protected","body":"1"}"#)
  }

  private static func waiting(_ world: SimulatedWorld) async throws -> Waiting {
    let scene = try await Scene.signedIn(world, more: #","allowedOrigins":["https://idp.test"]"#)
    let owner = try world.client()
    #expect(await owner.call("policy.set", Self.policy).error == nil)
    let made = await owner.call(
      "grant.create", #"{"client":"robot","accounts":["work"],"methods":["request.send"],"agent":true}"#)
    let robot = try world.client()
    let secret = try #require(made["secret"])
    let hello = await robot.call("agent.hello", #"{"client":{"name":"robot","version":"1"},"grant":"\#(secret)"}"#)
    #expect(hello.error == nil)
    let request = Self.send(robot, scene)
    return Waiting(
      scene: scene, owner: owner, robot: robot, grant: try #require(made["grant"]), request: request,
      approval: try #require(await listed(owner)))
  }

  /// The request that waits, once it does; nil if none does within a second.
  private static func listed(_ owner: SimulatedClient) async -> String? {
    for _ in 0..<100 {
      let list = await owner.call("approval.list")
      if let first = list.result?["approvals"]?.arrayValue?.first { return first["approval"]?.stringValue }
      await Task.yield()
    }
    return nil
  }

  private static func decide(_ waiting: Waiting, by client: SimulatedClient, _ verdict: String) -> Int {
    client.send("approval.decide", #"{"approval":"\#(waiting.approval)","verdict":"\#(verdict)"}"#)
  }

  /// The verdicts that the audit log has.
  private static func verdicts(_ world: SimulatedWorld) async throws -> [String] {
    let client = try world.client()
    defer { client.disconnect() }
    let list = await client.call("audit.list", #"{"limit":1000}"#)
    return (list.result?["entries"]?.arrayValue ?? [])
      .filter { $0["event"]?.stringValue == "approval.decide" }.compactMap { $0["outcome"]?.stringValue }
  }

  @Test func twoDeciders_firstVerdictCounts() throws {
    for seed in Seeds.asked(100) {
      try scenario(seed: seed) { world in
        let waiting = try await Self.waiting(world)
        let other = try world.client()
        let verdicts = seed % 2 == 0 ? ["once", "deny"] : ["deny", "session"]
        let asked = [
          Self.decide(waiting, by: waiting.owner, verdicts[0]), Self.decide(waiting, by: other, verdicts[1]),
        ]
        let told = [await waiting.owner.answer(to: asked[0]), await other.answer(to: asked[1])]
        let winners = told.indices.filter { told[$0].error == nil }
        #expect(winners.count == 1, "seed \(seed): \(told)")
        let verdict = verdicts[try #require(winners.first)]
        #expect(told.allSatisfy { $0.error == nil || $0.code == 6003 }, "seed \(seed): \(told)")
        let answer = await waiting.robot.answer(to: waiting.request)
        #expect(answer.error == nil ? verdict != "deny" : answer.code == 4001 && verdict == "deny", "seed \(seed)")
        #expect(waiting.effects == (verdict == "deny" ? 0 : 1), "seed \(seed)")
        #expect(try await Self.verdicts(world) == [verdict], "seed \(seed)")
      }
    }
  }

  private enum Incident: CaseIterable { case revoked, left, locked, cancelled, policyChanged, signedOut }

  /// Something else happens in the moment of the verdict: the request is sent once or not at all, and never without the
  /// verdict in the log. The order of both is the seed's.
  @Test func incidentBesideTheVerdict_sendsNothingWithoutIt() throws {
    for seed in Seeds.asked(130) {
      try scenario(seed: seed) { world in
        let waiting = try await Self.waiting(world)
        let other = try world.client()
        let incident = Incident.allCases[Int(seed) % Incident.allCases.count]
        let isFirst = seed / 6 % 2 == 0
        var verdict: Int?
        if !isFirst { verdict = Self.decide(waiting, by: waiting.owner, "once") }
        var happened: Int?
        switch incident {
        case .revoked: happened = other.send("grant.revoke", #"{"grant":"\#(waiting.grant)"}"#)
        case .left: waiting.robot.disconnect()
        case .locked: happened = other.send("agent.lock")
        case .cancelled: waiting.robot.cancel(waiting.request)
        case .policyChanged:
          let changed = Self.policy.replacing("\"version\":1", with: "\"version\":2")
            .replacing(
              "\"offlineWindowSeconds\"", with: "\"requires\":{\"rolesAny\":[\"boss\"]},\"offlineWindowSeconds\"")
          happened = other.send("policy.set", changed)
        case .signedOut:
          happened = other.send("account.signOut", #"{"account":"\#(waiting.scene.account)","mode":"offline"}"#)
        }
        let asked = verdict ?? Self.decide(waiting, by: waiting.owner, "once")
        let decided = await waiting.owner.answer(to: asked)
        if let happened { #expect(await other.answer(to: happened).error == nil, "seed \(seed)") }
        var wasSent = false
        if incident != .left {
          let answer = await waiting.robot.answer(to: waiting.request)
          wasSent = answer.error == nil
          #expect(wasSent || answer.code != nil, "seed \(seed): \(incident) leaves the caller without an answer")
        }
        await world.clock.sleep(for: .seconds(60))
        #expect(waiting.effects <= 1, "seed \(seed): \(incident)")
        if wasSent { #expect(waiting.effects == 1, "seed \(seed): \(incident)") }
        if incident == .locked { _ = await other.call("agent.unlock") }
        let logged = try await Self.verdicts(world)
        if decided.error == nil { #expect(logged == ["once"], "seed \(seed): \(incident)") }
        if waiting.effects > 0 { #expect(logged == ["once"], "seed \(seed): \(incident)") }
        let left = try world.client()
        #expect(await left.call("approval.list").result?["approvals"]?.arrayValue?.isEmpty == true, "seed \(seed)")
      }
    }
  }

  /// The agent dies in the moment of the verdict: at the next start nothing waits and nothing is sent, and what the log has
  /// is at most that verdict.
  @Test(arguments: [CommitMoment.before(1), .after(1), .before(2), .after(2)])
  func deathAtTheVerdict_leavesNothingThatWaits(moment: CommitMoment) throws {
    try scenario { world in
      let waiting = try await Self.waiting(world)
      world.crash(at: moment)
      let verdict = await waiting.owner.answer(to: Self.decide(waiting, by: waiting.owner, "session"))
      let answer = await waiting.robot.answer(to: waiting.request)
      if moment == .before(1) || moment == .after(1) {
        #expect(verdict.isLost && answer.isLost)
        #expect(waiting.effects == 0)
      }
      try await world.restart()
      #expect(try await Self.verdicts(world).count == (moment == .before(1) ? 0 : 1))
      let owner = try world.client()
      #expect(await owner.call("approval.list").result?["approvals"]?.arrayValue?.isEmpty == true)
      let late = Self.decide(waiting, by: owner, "once")
      #expect(await owner.answer(to: late).code == 6003)
      await world.clock.sleep(for: .seconds(60))
      #expect(waiting.effects <= 1)
    }
  }

  /// A verdict that can't be written down is none: the request waits on.
  @Test func verdictOnAFullDisk_isNone() throws {
    try scenario { world in
      let waiting = try await Self.waiting(world)
      world.failCommit(1, with: .full)
      let refused = await waiting.owner.answer(to: Self.decide(waiting, by: waiting.owner, "once"))
      #expect(refused.code == 5001, "\(refused)")
      #expect(await Self.listed(waiting.owner) == waiting.approval)
      #expect(waiting.effects == 0)
      #expect(await waiting.owner.answer(to: Self.decide(waiting, by: waiting.owner, "once")).error == nil)
      #expect(await waiting.robot.answer(to: waiting.request).error == nil)
      #expect(waiting.effects == 1)
    }
  }

  /// A request that waits holds up no other one: of the same connection, grant and account.
  @Test func waitingRequest_holdsUpNoOther() throws {
    try scenario { world in
      let waiting = try await Self.waiting(world)
      let read = await waiting.robot.call(
        "request.send", #"{"account":"\#(waiting.scene.account)","method":"GET","url":"https://idp.test/protected"}"#)
      #expect(read.error == nil, "\(read)")
      #expect(try await waiting.scene.token().error == nil)
      await world.clock.sleep(for: .seconds(31))
      let answer = await waiting.robot.answer(to: waiting.request)
      #expect(answer.code == 4001 && answer.reason == "notApproved", "\(answer)")
      #expect(waiting.effects == 0)
    }
  }

  /// Two deciders about a request for access, and the grant's end: what was added is what one verdict said.
  @Test func accessVerdicts_addOnceAndSurviveARestart() throws {
    for seed in Seeds.asked(60) {
      try scenario(seed: seed) { world in
        let waiting = try await Self.waiting(world)
        let asked = await waiting.robot.call(
          "access.request", #"{"origins":["https://idp.test"],"methods":["DELETE"],"reason":"To tidy up."}"#)
        let request = try #require(asked["request"])
        let other = try world.client()
        let first = waiting.owner.send(
          "access.decide", #"{"request":"\#(request)","verdict":"allow","expiresInSeconds":600}"#)
        let second = other.send("access.decide", #"{"request":"\#(request)","verdict":"deny"}"#)
        let revoked = seed % 3 == 0 ? other.send("grant.revoke", #"{"grant":"\#(waiting.grant)"}"#) : nil
        let told = [await waiting.owner.answer(to: first), await other.answer(to: second)]
        if let revoked { #expect(await other.answer(to: revoked).error == nil) }
        #expect(told.filter { $0.error == nil }.count <= 1, "seed \(seed): \(told)")
        try await world.restart()
        let owner = try world.client()
        let grants = await owner.call("grant.list").result?["grants"]?.arrayValue ?? []
        if revoked != nil {
          #expect(grants.isEmpty, "seed \(seed)")
        } else {
          #expect(told.filter { $0.error == nil }.count == 1, "seed \(seed): \(told)")
          let added = grants.first?["additions"]?.arrayValue?.count ?? 0
          #expect(added == (told[0].error == nil ? 1 : 0), "seed \(seed)")
        }
      }
    }
  }
}
