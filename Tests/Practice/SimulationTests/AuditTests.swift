import AgentModel
import AgentPorts
import AgentSimulation
import PracticeProvider
import StorageFaults
import Testing

/// The audit log under kills, full disks and concurrent callers: each answered decision is logged exactly once.
@Suite(.tellsItsSeed) struct AuditTests {
  static let storeUnavailable = 5001

  static func check(_ scene: Scene, _ capability: String = "order.view") async throws -> SimulatedAnswer {
    let client = try scene.world.client()
    defer { client.disconnect() }
    return await client.call(
      "authorization.check", #"{"account":"\#(scene.account)","capability":"\#(capability)"}"#)
  }

  /// All entries, page by page.
  static func entries(_ world: SimulatedWorld, pages: Int = 7) async throws -> [PracticeJSON] {
    let client = try world.client()
    defer { client.disconnect() }
    var found: [PracticeJSON] = []
    var after: Int64? = 0
    while let from = after {
      let page = try #require(await client.call("audit.list", #"{"after":\#(from),"limit":\#(pages)}"#).result)
      found += page["entries"]?.arrayValue ?? []
      after = page["next"]?.integerValue
    }
    let numbers = found.compactMap { $0["sequence"]?.integerValue }
    #expect(numbers == found.indices.map { Int64($0) + 1 }, "without a gap, and in order")
    return found
  }

  /// The first broken entry; nil if the log is intact.
  static func firstBroken(_ world: SimulatedWorld) async throws -> Int64? {
    let client = try world.client()
    defer { client.disconnect() }
    let answer = await client.call("audit.verify")
    let result = try #require(answer.result, "\(answer)")
    guard result["intact"]?.text != "true" else { return nil }
    return try #require(result["firstBroken"]?.integerValue)
  }

  static func decisions(_ entries: [PracticeJSON]) -> [String] {
    entries.compactMap { $0["facts"]?["decisionId"]?.stringValue }
  }

  /// Decisions, renames, switches and a sign-out at once. Returns the answers of each.
  private static func everythingAtOnce(
    _ scene: Scene, _ decisions: Int
  ) async throws -> (decided: [SimulatedAnswer], renamed: [SimulatedAnswer], out: SimulatedAnswer) {
    let clients = try (0..<4).map { _ in try scene.world.client() }
    defer { for client in clients { client.disconnect() } }
    let asked = (0..<decisions).map { number in
      clients[number % 3].send(
        "authorization.check", #"{"account":"\#(scene.account)","capability":"order.number\#(number)"}"#)
    }
    let renames = (0..<3).map { number in
      clients[3].send("account.rename", #"{"account":"\#(scene.account)","alias":"name\#(number)"}"#)
    }
    let out = clients[3].send("account.signOut", #"{"account":"\#(scene.account)","mode":"soft"}"#)
    var decided: [SimulatedAnswer] = []
    for (number, id) in asked.enumerated() { decided.append(await clients[number % 3].answer(to: id)) }
    var renamed: [SimulatedAnswer] = []
    for id in renames { renamed.append(await clients[3].answer(to: id)) }
    return (decided, renamed, await clients[3].answer(to: out))
  }

  /// A decision that was made before a sign-out, and written after it, would say that the sign-out came to nothing.
  @Test(arguments: Seeds.asked(130)) func decisionAllowed_neverFollowsTheSignOutItLostTo(seed: UInt64) throws {
    try scenario(seed: seed) { world in
      let scene = try await Scene.signedIn(world)
      let set = try await world.client().call(
        "policy.set",
        #"{"name":"default","policy":{"name":"default","version":1,"capabilities":{"read":{"kind":"read","offlineWindowSeconds":600}}}}"#
      )
      #expect(set.error == nil, "\(set)")
      let (asking, leaving) = (try world.client(), try world.client())
      let params = #"{"account":"\#(scene.account)","capability":"read"}"#
      var asked = (0..<4).map { _ in asking.send("authorization.check", params) }
      await world.clock.sleep(for: Milliseconds(Int64(seed % 4)))
      let out = leaving.send("account.signOut", #"{"account":"\#(scene.account)","mode":"soft"}"#)
      asked += (0..<4).map { _ in asking.send("authorization.check", params) }
      var effects: [String] = []
      for id in asked { effects.append(await asking.answer(to: id)["effect"] ?? "?") }
      #expect(await leaving.answer(to: out).error == nil)
      #expect(effects.allSatisfy { $0 == "allow" || $0 == "deny" }, "\(effects)")
      let entries = try await Self.entries(world)
      let counted = entries.filter { $0["event"]?.stringValue == "authorization.check" }
        .reduce(0) { $0 + ($1["count"]?.integerValue ?? 1) }
      #expect(counted == asked.count)
      let left = try #require(entries.firstIndex { $0["event"]?.stringValue == "account.signOut" })
      let late = entries[left...].filter {
        $0["event"]?.stringValue == "authorization.check" && $0["outcome"]?.stringValue == "allow"
      }
      #expect(late.isEmpty, "\(late)")
    }
  }

  @Test(arguments: Seeds.asked(130)) func answeredDecision_isInTheAuditLogExactlyOnce(seed: UInt64) throws {
    try scenario(seed: seed) { world in
      let scene = try await Scene.signedIn(world)
      let number = Int(seed / 4 % 5) + 1
      switch seed % 4 {
      case 0: world.crash(at: .before(number))
      case 1: world.crash(at: .after(number))
      case 2: world.failCommit(number, with: seed % 8 < 4 ? .full : .inputOutput)
      default: world.failDisk(.die(.powerLoss(seed: seed)), at: number * 3)
      }
      let (decided, renamed, out) = try await Self.everythingAtOnce(scene, 12)
      try await world.restart()
      let entries = try await Self.entries(world)
      let logged = Self.decisions(entries)
      #expect(Set(logged).count == logged.count, "seed \(seed): twice")
      for answer in decided where !answer.isLost {
        if let id = answer["decisionId"] {
          #expect(logged.contains(id), "seed \(seed): answered, and not written down")
        } else {
          #expect(answer.code == Self.storeUnavailable || answer.code == 2003, "seed \(seed): \(answer)")
        }
      }
      let told = decided.compactMap { $0["decisionId"] }
      let lost = decided.filter(\.isLost).count
      #expect(logged.count <= told.count + lost, "seed \(seed): what failed is not in the log")
      func count(_ event: String) -> Int { entries.filter { $0["event"]?.stringValue == event }.count }
      let done = renamed.filter { $0.result != nil }.count
      #expect((done...done + renamed.filter(\.isLost).count).contains(count("account.rename")), "seed \(seed)")
      let signedOut = out.result != nil ? 1...1 : out.isLost ? 0...1 : 0...0
      #expect(signedOut.contains(count("account.signOut")), "seed \(seed): \(out)")
      // The account's state agrees with the log.
      let state = try await scene.session()["state"]
      #expect((state == "signedOut") == (count("account.signOut") == 1), "seed \(seed)")
      #expect(try await Self.firstBroken(world) == nil, "seed \(seed)")
      #expect(try await Self.check(scene).error == nil, "seed \(seed): it goes on")
    }
  }

  /// Repeats are counted in one entry, also by callers at once, and each is answered with that entry's id.
  @Test(arguments: Seeds.asked(60)) func repeatedDecision_isAnsweredWithTheIDOfTheEntryThatCountsIt(seed: UInt64) throws
  {
    try scenario(seed: seed) { world in
      let scene = try await Scene.signedIn(world)
      if seed % 2 == 0 { world.crash(at: .after(Int(seed / 2 % 5) + 1)) }
      let clients = try (0..<4).map { _ in try world.client() }
      let asked = (0..<40).map { number in
        clients[number % 4].send(
          "authorization.check", #"{"account":"\#(scene.account)","capability":"order.number\#(number % 3)"}"#)
      }
      var told: [String] = []
      for (number, id) in asked.enumerated() {
        if let id = await clients[number % 4].answer(to: id)["decisionId"] { told.append(id) }
      }
      for client in clients { client.disconnect() }
      if seed % 2 == 0 { try await world.restart() }
      let decisions = try await Self.entries(world).filter { $0["event"]?.stringValue == "authorization.check" }
      let counted = decisions.reduce(0) { $0 + ($1["count"]?.integerValue ?? 1) }
      #expect(Set(told).isSubset(of: Self.decisions(decisions)), "seed \(seed): answered, and not written down")
      #expect(counted >= told.count && counted <= 40, "seed \(seed): \(counted) counted, \(told.count) answered")
      #expect(decisions.count == 3 || seed % 2 == 0, "seed \(seed): \(decisions.count)")
      #expect(try await Self.firstBroken(world) == nil, "seed \(seed)")
    }
  }

  /// A client that may only ask for decisions floods the log: it is refused, and displaces nothing.
  @Test func floodOfDecisions_isRefusedAndDisplacesNoSecurityEvent() throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world)
      let before = try await Self.entries(world)
      let owner = try world.client()
      let flooder = try world.client()
      #expect(await flooder.call("agent.hello", #"{"client":{"name":"flooder","version":"1"}}"#).error == nil)
      func ask(_ client: SimulatedClient, _ round: Int) async -> SimulatedAnswer {
        let names = (0..<128).map { #""flood.r\#(round)n\#($0)""# }.joined(separator: ",")
        return await client.call(
          "authorization.checkMany", #"{"account":"\#(scene.account)","capabilities":[\#(names)]}"#)
      }
      var refused: SimulatedAnswer?
      for round in 0..<60 where refused == nil {
        let answer = await ask(flooder, round)
        if answer.error != nil { refused = answer }
      }
      #expect(refused?.code == 1003, "\(String(describing: refused))")
      #expect(await ask(flooder, 0).error != nil, "a repeat of more than the newest 256 is new")
      #expect(await ask(flooder, 38).error == nil, "repeats of the newest cost nothing")
      #expect(await ask(owner, 100).error == nil, "other clients are served")
      world.advance(by: .seconds(3_600))
      #expect(await ask(flooder, 101).error == nil, "an hour later it is served again")
      let events = try await Self.entries(world, pages: 1000).filter {
        $0["event"]?.stringValue != "authorization.check"
      }
      #expect(events.prefix(before.count).map { $0["event"] } == before.map { $0["event"] })
      for client in [owner, flooder] { client.disconnect() }
    }
  }

  /// A loop of changes is refused beyond the quota; a sign-out never is.
  @Test func loopOfChanges_isRefusedAndASignOutIsNot() throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world)
      let client = try world.client()
      var refused: SimulatedAnswer?
      for number in 0..<2_500 where refused == nil {
        let answer = await client.call(
          "account.rename", #"{"account":"\#(scene.account)","alias":"name\#(number)"}"#)
        if answer.error != nil { refused = answer }
      }
      #expect(refused?.code == 1003, "\(String(describing: refused))")
      let out = await client.call("account.signOut", #"{"account":"\#(scene.account)","mode":"hard"}"#)
      #expect(out.error == nil, "\(out)")
      #expect(try await Self.firstBroken(world) == nil)
      client.disconnect()
    }
  }

  /// A decision that can't be logged is not answered, and leaves no trace.
  @Test func decisionOnAFullDisk_isRefused() throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world)
      let before = try await Self.entries(world).count
      world.failDisk(.fail(.full, once: false), at: 1)
      for _ in 0..<3 { #expect(try await Self.check(scene).code == Self.storeUnavailable) }
      #expect(scene.works(try await scene.token()), "a cached token is still served")
      try await world.restart()
      #expect(try await Self.entries(world).count == before)
      #expect(try await Self.firstBroken(world) == nil)
      #expect(try await Self.check(scene).error == nil)
    }
  }

  @Test func concurrentDecisions_shareCommits() throws {
    for seed in Seeds.asked(30) {
      try scenario(seed: seed) { world in
        let scene = try await Scene.signedIn(world)
        let before = world.commits
        let clients = try (0..<8).map { _ in try world.client() }
        let asked = (0..<128).map { number in
          clients[number % 8].send(
            "authorization.check", #"{"account":"\#(scene.account)","capability":"order.number\#(number)"}"#)
        }
        var told: [String] = []
        for (number, id) in asked.enumerated() {
          let answer = await clients[number % 8].answer(to: id)
          told.append(try #require(answer["decisionId"], "seed \(seed): \(answer)"))
        }
        #expect(world.commits - before <= 16, "seed \(seed): \(world.commits - before) commits for 128 decisions")
        #expect(Set(Self.decisions(try await Self.entries(world, pages: 1000))) == Set(told), "seed \(seed)")
        for client in clients { client.disconnect() }
      }
    }
  }

  /// Canaries for every secret and personal detail, through every operation that is logged.
  @Test func auditLog_holdsNoSecretAndNoPersonalDetail() throws {
    try scenario { world in
      let secret = "canary-client-secret"
      let scene = try await Scene.signedIn(world)
      let client = try world.client()
      defer { client.disconnect() }
      let issuer = world.makeProvider("second").idp.issuer
      let added = await client.call(
        "provider.add",
        #"{"name":"second","issuer":"\#(issuer)","clientId":"lanyard-demo","clientSecret":"\#(secret)"}"#)
      #expect(added.error == nil, "\(added)")
      let account = try #require(try await scene.account().result)
      var canaries = ["work", "246813579", "canary-value", "canary-name", "canary-alias", secret]
      canaries += ["subject", "email", "displayName"].compactMap { account[$0]?.stringValue }
      canaries.append(try #require(try await scene.token()["accessToken"]))
      canaries += scene.idp.activeRefreshTokens()
      for (method, more) in [
        ("stepUp.enroll", #","pin":"246813579""#), ("stepUp.verify", #","pin":"246813579""#),
        ("secret.put", #","name":"canary-name","value":"canary-value""#),
        ("authorization.check", #","capability":"order.view","context":{"attributes":{"customer":"canary-value"}}"#),
        ("account.rename", #","alias":"canary-alias""#), ("token.refresh", ""), ("account.signOut", #","mode":"hard""#),
      ] {
        let answer = await client.call(method, #"{"account":"\#(scene.account)"\#(more)}"#)
        #expect(answer.error == nil, "\(method): \(answer)")
        if let token = answer["accessToken"] { canaries.append(token) }
        canaries += scene.idp.activeRefreshTokens()
      }
      let log = await client.call("audit.list", #"{"limit":1000}"#)
      let line = try #require(log.line)
      #expect((log.result?["entries"]?.arrayValue?.count ?? 0) >= 7)
      #expect(canaries.count >= 11)
      for canary in canaries { #expect(!line.contains(canary), "\(canary) in \(line)") }
    }
  }
}
