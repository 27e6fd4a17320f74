import AgentModel
import AgentPorts
import AgentSimulation
import PracticeProvider
import Testing

@testable import Agent
@testable import AgentServing
@testable import AgentVault

/// Accounts that an earlier version erased by a hard sign-out: it kept alias, name, e-mail, tenant and subject, and
/// their revocations stood under the alias (docs/sign-out.md, Modes).
@Suite struct EarlierErasureTests {
  private static let names = ["alice", "Alice", "acme", #""work""#]

  private static func call(
    _ world: SimulatedWorld, _ method: String, _ params: String = "{}"
  ) async throws -> SimulatedAnswer {
    let client = try world.client()
    defer { client.disconnect() }
    return await client.call(method, params)
  }

  private static func lines(_ world: SimulatedWorld, _ account: String) async throws -> String {
    var lines = ""
    for (method, params) in [
      ("account.list", "{}"), ("account.get", #"{"account":"\#(account)"}"#), ("revocation.list", "{}"),
      ("session.get", #"{"account":"\#(account)"}"#), ("agent.diagnose", "{}"),
    ] {
      lines += try #require(try await call(world, method, params).line)
    }
    return lines
  }

  /// A sign-out whose revocation waits, with the profile as the earlier version left it after a hard one.
  private static func signedOutAsBefore(_ world: SimulatedWorld, _ provider: SimulatedProvider) async throws -> String {
    let account = try await world.signIn("alice", at: provider, alias: "work")
    world.network.isOnline = false
    let out = try await call(world, "account.signOut", #"{"account":"work","mode":"soft"}"#)
    #expect(out["revocation"] == "queued", "\(out)")
    let id = try #require(AccountID(account))
    try await world.server.agent.vault.commit { vault throws(AgentFailure) in
      var profile = try vault.directory.profile(.id(id))
      profile.signInStatus = .signedOutHard
      let keptNames = !profile.isErased && profile.alias != nil && profile.email != nil
      #expect(keptNames && profile.identity.subject.contains("alice"))
      return ChangeSet([.put(profile.partition, .profile, profile.record)], memory: [.account(profile)])
    }
    let before = try await lines(world, account)
    for name in names { #expect(before.contains(name), "the earlier version kept \(name)") }
    return account
  }

  @Test func accountErasedByAnEarlierVersion_losesItsNameAtTheFirstOpening() throws {
    try SimulatedWorld(seed: 21).run { world in
      let provider = try await world.provider("idp")
      let account = try await Self.signedOutAsBefore(world, provider)
      try await world.restart()
      for _ in 1...2 {
        let after = try await Self.lines(world, account)
        #expect(after.contains("erased:") && after.contains(account))
        for name in Self.names { #expect(!after.contains(name), "\(name) in \(after)") }
        try await world.restart()
      }
      world.network.isOnline = true
      #expect(try await world.signIn("bob", at: provider) != account)
      #expect(try await world.signIn("alice", at: provider) == account, "the same person lands on the same account")
    }
  }

  /// The vault opens all the same, and the next opening does it.
  @Test func diskThatRefusesIt_leavesItToTheNextOpening() throws {
    try SimulatedWorld(seed: 22).run { world in
      let provider = try await world.provider("idp")
      let account = try await Self.signedOutAsBefore(world, provider)
      #expect(try await Self.call(world, "agent.lock").error == nil)
      world.failCommit(1, with: .full)
      #expect(try await Self.call(world, "agent.unlock").error == nil)
      #expect(try await Self.lines(world, account).contains("alice"))
      try await world.restart()
      #expect(try await !Self.lines(world, account).contains("alice"))
    }
  }
}
