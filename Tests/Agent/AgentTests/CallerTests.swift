import AgentModel
import AgentPorts
import AgentProtocol
import AgentServing
import AgentSimulation
import Foundation
import PracticeProvider
import SchemaKit
import Testing

/// A caller with a grant learns nothing of accounts outside its grant.
@Suite struct CallerTests {
  private static let contract = Result {
    let top = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent()
    return try Contract(directory: top.appending(path: "Schemas"))
  }

  /// `alice` is covered, `bob` exists uncovered, and the last two names belong to no account.
  private static func strangers(_ bob: String) -> [String] {
    ["home", bob, "missing", "acc_" + String(repeating: "a", count: 26)]
  }

  private static func limited(_ world: SimulatedWorld, _ methods: [String]) async throws -> SimulatedClient {
    let owner = try world.client()
    defer { owner.disconnect() }
    let names = methods.map { "\"\($0)\"" }.joined(separator: ",")
    let made = await owner.call("grant.create", #"{"client":"c","accounts":["work"],"methods":[\#(names)]}"#)
    let secret = try #require(made["secret"])
    let client = try world.client()
    let hello = await client.call("agent.hello", #"{"client":{"name":"c","version":"1"},"grant":"\#(secret)"}"#)
    #expect(hello.code == nil)
    return client
  }

  private static func people(_ world: SimulatedWorld) async throws -> (work: String, home: String) {
    let idp = try await world.provider("idp")
    let work = try await world.signIn("alice@acme", at: idp, alias: "work")
    let home = try await world.signIn("bob", at: idp, alias: "home")
    return (work, home)
  }

  /// The params of an example, for another account.
  private static func params(_ example: JSONValue, account: String) -> String {
    let members = (example.members ?? []).map { member in
      "\"\(member.name)\":\(member.name == "account" ? "\"\(account)\"" : member.value.compact)"
    }
    return "{\(members.joined(separator: ","))}"
  }

  @Test func uncoveredAccountAndMissingAccount_areAnsweredAlike() throws {
    let methods = try Self.contract.get().methods.filter { $0.accountScoped && !$0.examples.isEmpty }
    #expect(methods.count > 20)
    try SimulatedWorld(seed: 7).run { world in
      let (_, home) = try await Self.people(world)
      // For each setting of the method in the grant.
      for grant in [["*"], ["account.list"]] {
        for method in methods {
          let owner = try world.client()
          let known = await owner.call(method.name, #"{"no":"such"}"#)
          guard known.code != -32601 else { continue }
          var answers: Set<String> = []
          for stranger in Self.strangers(home) {
            // The same request id each time needs a new connection.
            let client = try await Self.limited(world, grant)
            let answer = await client.call(method.name, Self.params(method.examples[0].params, account: stranger))
            #expect(answer.code == 1007, "\(method.name) of \(stranger): \(answer)")
            answers.insert(answer.line ?? "")
            client.disconnect()
          }
          #expect(answers.count == 1, "\(method.name): \(answers)")
          owner.disconnect()
        }
      }
    }
  }

  @Test func methodOutsideTheGrant_isRefused() throws {
    let contract = try Self.contract.get()
    try SimulatedWorld(seed: 8).run { world in
      let (work, _) = try await Self.people(world)
      let client = try await Self.limited(world, ["token.get"])
      for method in contract.methods where method.underGrant != .always && method.name != "token.get" {
        let answer = await client.call(method.name, Self.params(method.examples[0].params, account: work))
        #expect([1007, -32601].contains(answer.code), "\(method.name): \(answer)")
      }
      let token = await client.call("token.get", #"{"account":"work"}"#)
      #expect(token["account"] == work)
    }
  }

  /// A method without an explicit rule belongs to the whole agent.
  @Test func everyMethod_hasAGrantRule() throws {
    for method in try Self.contract.get().methods {
      let info = try #require(MethodTable.byName[method.name])
      switch info.underGrant {
      case .account: #expect(info.accountScoped)
      case .always: #expect(["access.request", "agent.hello", "rpc.discover"].contains(info.name))
      case .covered, .shared, .agent, .never: #expect(!info.accountScoped)
      }
    }
  }

  /// A member that can name something of another account is checked against the grant. What the answers are is in
  /// `Tests/Programs/Integration/test_coverage.py`.
  @Test func everyMemberThatNamesSomething_isReached() throws {
    let contract = try Self.contract.get()
    var named = 0
    for method in contract.methods {
      let reached = Set(try #require(ServedMethods.reached(by: method.name), "\(method.name) is not served"))
      switch method.underGrant {
      case .account: #expect(reached.contains(.account), "\(method.name)")
      case .shared, .always: #expect(reached == [.shared], "\(method.name)")
      case .agent, .never: #expect(reached.contains(.agent), "\(method.name)")
      case .covered: #expect(reached.isDisjoint(with: [.agent, .shared]), "\(method.name)")
      }
      guard case .object(let params) = contract.resolved(method.params).kind else {
        Issue.record("the params of \(method.name) are no object")
        continue
      }
      for member in params.members {
        guard let wanted = Self.reached(of: member, in: method) else { continue }
        named += 1
        #expect(!reached.isDisjoint(with: wanted), "\(member.name) of \(method.name)")
      }
    }
    #expect(named > 60)
  }

  /// What a member of this type may reach; nil if it names nothing of an account.
  private static func reached(of member: Schema.ObjectShape.Member, in method: SchemaKit.Method) -> Set<ReachedKind>? {
    var schema = member.schema
    if case .array(let list) = schema.kind { schema = list.items }
    guard case .reference(let type) = schema.kind else { return nil }
    switch type {
    case "accountSelector", "accountId": return [.account, .covered]
    case "alias": return [.name]
    case "providerName":
      // A draft is made for a preset, too, and for a provider only if the grant covers it.
      return method.name == "provider.add" ? [.name] : method.name == "policy.draft" ? [.covered] : [.provider]
    case "handle":
      // Operations are looked up within the account; claims and subscriptions belong to the connection.
      if method.accountScoped { return [.account] }
      // No grant covers it at all.
      if method.underGrant == .never { return nil }
      return member.name == "subscription" ? [.covered] : ReachedKind(rawValue: member.name).map { [$0] } ?? []
    default: return nil
    }
  }

  @Test func answersToALimitedCaller_nameNoOtherAccount() throws {
    let contract = try Self.contract.get()
    try SimulatedWorld(seed: 9).run { world in
      let (_, home) = try await Self.people(world)
      let owner = try world.client()
      let client = try await Self.limited(world, ["*"])
      _ = await client.call("event.subscribe")
      // The other account changes while the caller asks for everything that it may.
      _ = await owner.call("account.switch", #"{"account":"home"}"#)
      _ = await owner.call("account.rename", #"{"account":"home","alias":"house"}"#)
      _ = await owner.call("account.signOut", #"{"account":"house","mode":"offline"}"#)
      for method in contract.methods where method.underGrant != .always {
        for account in ["work", "house", "@active"] {
          let answer = await client.call(method.name, Self.params(method.examples[0].params, account: account))
          #expect(!answer.description.contains(home), "\(method.name): \(answer)")
          #expect(!answer.description.contains("house"), "\(method.name): \(answer)")
          #expect(!answer.description.contains("bob"), "\(method.name): \(answer)")
        }
      }
      let told = client.takeLines().joined()
      #expect(!told.contains(home) && !told.contains("house"), "\(told)")
    }
  }

  /// Grants are created and revoked while a client asks: it never learns more than its grant covers, and nothing after
  /// the revocation.
  @Test(arguments: 1...20)
  func revokedGrant_servesNothingMore(seed: Int) throws {
    try SimulatedWorld(seed: UInt64(seed)).run { world in
      _ = try await Self.people(world)
      let owner = try world.client()
      let client = try await Self.limited(world, ["token.*", "account.list"])
      let asked = (0..<8).map { number in
        client.send(number % 2 == 0 ? "token.refresh" : "account.list", number % 2 == 0 ? #"{"account":"work"}"# : "{}")
      }
      let grants = await owner.call("grant.list")
      let name = try #require(grants.result?["grants"]?.arrayValue?.first?["grant"]?.stringValue)
      let revoked = await owner.call("grant.revoke", #"{"grant":"\#(name)"}"#)
      #expect(revoked.code == nil)
      for (id, late) in asked.map({ ($0, false) }) + (0..<4).map({ _ in (client.send("account.list"), true) }) {
        let answer = await client.answer(to: id)
        #expect(answer.code == 1007 || !late && answer.code == nil, "\(answer)")
      }
    }
  }

  /// A grant that was presented while the vault was locked: the connection gets nothing until it presents it again.
  @Test func grantPresentedWhileLocked_limitsTheConnectionFromThenOn() throws {
    try SimulatedWorld(seed: 14).run { world in
      _ = try await Self.people(world)
      let owner = try world.client()
      func grant(_ account: String, _ methods: String) async throws -> String {
        let made = await owner.call(
          "grant.create", #"{"client":"c","accounts":["\#(account)"],"methods":[\#(methods)]}"#)
        let secret = try #require(made["secret"])
        return #"{"client":{"name":"c","version":"1"},"grant":"\#(secret)"}"#
      }
      let tokens = try await grant("work", #""token.get","account.list""#)
      let lists = try await grant("work", #""account.list","event.subscribe""#)
      let (fresh, limited) = (try world.client(), try world.client())
      #expect(await fresh.call("event.subscribe").code == nil)
      #expect(await limited.call("agent.hello", tokens).code == nil)
      #expect(await owner.call("agent.lock").code == nil)
      _ = fresh.takeLines()
      for client in [fresh, limited] {
        #expect(await client.call("agent.hello", lists).code == 1001)
        #expect(await client.call("agent.status").code == 1007)
      }
      #expect(await owner.call("agent.unlock").code == nil)
      for client in [fresh, limited] {
        #expect(await client.call("account.list").code == 1007)
        #expect(await client.call("token.get", #"{"account":"work"}"#).code == 1007)
      }
      #expect(!fresh.takeLines().joined().contains("agent.unlocked"), "a subscription of before")
      for client in [fresh, limited] {
        #expect(await client.call("agent.hello", lists).code == nil)
        #expect(await client.call("account.list").code == nil)
        #expect(await client.call("token.get", #"{"account":"work"}"#).code == 1007)
      }
      // What limited it before still does.
      #expect(await fresh.call("event.subscribe").code == nil)
      #expect(await limited.call("event.subscribe").code == 1007)
    }
  }

  /// A grant in a request that is not served limits nothing, so that nothing is served after it.
  @Test(arguments: [
    #"{"jsonrpc":"2.0","id":"h","method":"agent.hello","params":{"client":{"name":"c","version":"1"},"grant":5}}"#,
    #"{"jsonrpc":"2.0","id":"h","method":"agent.hello","params":{"grant":"G","no":1}}"#,
    #"{"jsonrpc":"2.0","id":"h","method":"agent.hello","params":{"grant":"G","grant":"x"}}"#,
    #"{"jsonrpc":"2.0","id":"h","method":"agent.hello","params":{},"params":{"grant":"G"}}"#,
    #"{"jsonrpc":"2.0","id":"h","method":"rpc.discover","method":"agent.hello","params":{"grant":"G"}}"#,
    #"{"jsonrpc":"2.0","id":"h","method":"agent.hello","params":["G"]}"#,
    #"{"jsonrpc":"2.0","id":"h","method":"agent.hello","params":"G"}"#,
    #"{"jsonrpc":"2.0","method":"agent.hello","params":["G"]}"#,
    #"{"id":"h","method":"agent.hello","params":{"grant":"G"}}"#,
    #"[{"jsonrpc":"2.0","id":"h","method":"agent.hello","params":["G"]}]"#,
    #"{"jsonrpc":"2.0","id":"h","method":"agent.hello","params":{"grant":"G",}}"#,
    #"{"jsonrpc":"2.0","id":"h","params":{"grant":"G",},"method":"agent.hello"}"#,
    #"[{"jsonrpc":"2.0","id":"h","method":"agent.hello","params":{"grant":"G"}},"#,
  ])
  func invalidHelloWithAGrant_refusesTheConnection(line: String) throws {
    try SimulatedWorld(seed: 15).run { world in
      _ = try await Self.people(world)
      let client = try world.client()
      client.write(line + "\n")
      #expect(await client.call("token.get", #"{"account":"work"}"#).code == 1007)
    }
  }

  @Test(arguments: [
    #"{"jsonrpc":"2.0","id":"h","method":"agent.hello","params":{"client":{"name":"c"}}}"#,
    #"{"id":"h","method":"agent.hello"}"#, #"{"jsonrpc":"2.0","id":"h","method":"account.list","params":["G"]}"#,
  ])
  func invalidRequestThatCannotLimit_refusesNothing(line: String) throws {
    try SimulatedWorld(seed: 16).run { world in
      _ = try await Self.people(world)
      let client = try world.client()
      client.write(line + "\n")
      #expect(await client.call("token.get", #"{"account":"work"}"#).code == nil)
    }
  }

  /// The disk refuses the revocation: the grant serves nothing all the same, and the disk is asked again.
  @Test(arguments: [false, true])
  func revocationThatTheDiskRefused_servesNothingAndIsTriedAgain(isLockedMeanwhile: Bool) throws {
    try SimulatedWorld(seed: 12).run { world in
      _ = try await Self.people(world)
      let owner = try world.client()
      let made = await owner.call("grant.create", #"{"client":"c","accounts":["work"],"methods":["token.get"]}"#)
      let (name, secret) = (try #require(made["grant"]), try #require(made["secret"]))
      let hello = #"{"client":{"name":"c","version":"1"},"grant":"\#(secret)"}"#
      let client = try world.client()
      #expect(await client.call("agent.hello", hello).code == nil)
      world.failCommit(1, with: .full)
      #expect(await owner.call("grant.revoke", #"{"grant":"\#(name)"}"#).code == 5001)
      #expect(await client.call("token.get", #"{"account":"work"}"#).code == 1007)
      #expect(try await world.client().call("agent.hello", hello).code == 1007)
      if isLockedMeanwhile {
        #expect(await owner.call("agent.lock").code == nil)
        #expect(await owner.call("agent.unlock").code == nil)
        #expect(try await world.client().call("agent.hello", hello).code == 1007)
      }
      await world.clock.sleep(for: .seconds(20))
      try await world.restart()
      #expect(try await world.client().call("agent.hello", hello).code == 1007)
      let log = try await world.client().call("audit.list").result?["entries"]?.arrayValue ?? []
      #expect(log.count { $0["event"]?.stringValue == "grant.revoke" } == 1)
    }
  }

  /// Nothing but the disk outlives the agent: the error says that the grant may come back, and only then it does.
  @Test func revocationThatTheDiskNeverTook_isToldAsNotStored() throws {
    try SimulatedWorld(seed: 13).run { world in
      _ = try await Self.people(world)
      let owner = try world.client()
      let made = await owner.call("grant.create", #"{"client":"c","accounts":["work"],"methods":["token.get"]}"#)
      let (name, secret) = (try #require(made["grant"]), try #require(made["secret"]))
      let hello = #"{"client":{"name":"c","version":"1"},"grant":"\#(secret)"}"#
      world.failCommit(1, with: .full)
      let refused = await owner.call("grant.revoke", #"{"grant":"\#(name)"}"#)
      #expect(refused.code == 5001 && refused.retryAfterMs == 1000, "\(refused)")
      let message = try #require(refused.error?["message"]?.stringValue)
      #expect(message.contains("If the agent ends before that, the grant is valid again"), "\(message)")
      try await world.restart()
      #expect(try await world.client().call("agent.hello", hello).code == nil)
      #expect(try await world.client().call("grant.revoke", #"{"grant":"\#(name)"}"#).error == nil)
      try await world.restart()
      #expect(try await world.client().call("agent.hello", hello).code == 1007)
    }
  }

  /// A row that was changed, deleted or restored opens nothing; other grants and the accounts are not affected.
  @Test(arguments: ["flipped", "deleted"])
  func damagedGrant_opensNothingAndAffectsNoOther(damage: String) throws {
    let kind = RecordKind(rawValue: 27)
    let world = SimulatedWorld(seed: 11)
    let secrets = try world.run { world in
      _ = try await Self.people(world)
      let owner = try world.client()
      var secrets: [String] = []
      for _ in 0..<2 {
        let made = await owner.call("grant.create", #"{"client":"c","accounts":["work"],"methods":["token.get"]}"#)
        secrets.append(try #require(made["secret"]))
      }
      world.crash()
      return secrets
    }
    try world.tamper { store in
      var row = try #require(try store.records(in: .vault, kind: kind).first)
      row.sealed[row.sealed.count - 1] ^= 1
      try store.commit([damage == "flipped" ? .put(row) : .delete(row.key)])
    }
    try world.run { world in
      var opened = 0
      for secret in secrets {
        let client = try world.client()
        let hello = await client.call("agent.hello", #"{"client":{"name":"c","version":"1"},"grant":"\#(secret)"}"#)
        let token = await client.call("token.get", #"{"account":"work"}"#)
        #expect(hello.code == token.code)
        if hello.code == nil { opened += 1 } else { #expect(hello.code == 1007) }
      }
      #expect(opened == 1)
      let owner = try world.client()
      #expect(await owner.call("token.get", #"{"account":"home"}"#).code == nil)
      let made = await owner.call("grant.create", #"{"client":"c","accounts":["home"],"methods":["token.get"]}"#)
      #expect(made["secret"] != nil)
    }
  }
}
