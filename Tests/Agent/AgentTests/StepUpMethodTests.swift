import Agent
import AgentCore
import AgentModel
import AgentPermissions
import AgentPorts
import AgentRecords
import AgentServing
import AgentSessions
import AgentSimulation
import AgentStore
import AgentWire
import PracticeProvider
import Secrets
import Testing

extension StepUpMethod {
  fileprivate static let badge = StepUpMethod(rawValue: "badge")
}

private func secret(_ text: String) -> Secret { Secret(text: text) }

/// A badge with a number: `judge` reports another badge as wrong, and an unreadable one as unavailable.
private struct Badge: StepUpProver {
  let method = StepUpMethod.badge

  func enroll(_ given: Secret, pepper: SealingKey) async -> StepUpEnrolment? {
    StepUpEnrolment(kept: given.withBytes { Array($0.prefix(1)) }, key: SealingKey(pepper.keyed("badge", given))!)
  }

  func judge(_ given: Secret, kept: [UInt8], pepper: SealingKey) async -> StepUpProof {
    if given.equals(secret("unreadable")) { return .unavailable }
    guard given.withBytes({ Array($0.prefix(1)) }) == kept else { return .wrong }
    return SealingKey(pepper.keyed("badge", given)).map { .key($0) } ?? .unavailable
  }
}

/// The PIN is one method behind a port: another method needs no change in coordinator, vault or policy.
@Suite struct StepUpMethodTests {
  private struct Badges {
    let agent: AgentService
    let coordinator: StepUpCoordinator
    let account: AccountID

    func verify(_ number: String, by method: StepUpMethod = .badge, for duration: Milliseconds? = nil) async
      -> AgentFailure?
    {
      do throws(AgentFailure) {
        _ = try await coordinator.verify(secret(number), by: method, of: account, for: duration)
        return nil
      } catch { return error }
    }

    func left() async throws -> Int {
      try await agent.vault.read { vault throws(AgentFailure) in try vault.stepUp.status(.id(account)).attemptsLeft }
    }

    func decide(_ rule: Capability.StepUpRule) async throws -> Decision {
      let facts = try await agent.accounts.actor(.id(account)).authorizationFacts().facts
      var capability = Capability(kind: .read)
      capability.stepUp = rule
      return PolicyEngine.decide(
        "c", facts: facts, under: .document(PolicyDocument(name: "p", version: 1, capabilities: ["c": capability])))
    }
  }

  private static func withBadge(_ body: @escaping @Sendable (SimulatedWorld, Badges) async throws -> Void) throws {
    try SimulatedWorld(seed: 1).run { world in
      let provider = try await world.provider("idp")
      let account = try #require(AccountID(try await world.signIn("alice", at: provider, alias: "work")))
      let coordinator = StepUpCoordinator(vault: world.server.agent.vault, methods: [PINMethod(), Badge()])
      let status = try await coordinator.enroll(secret("4711"), by: .badge, for: account)
      #expect(status.isEnrolled && status.attemptsLeft == 10)
      try await body(world, Badges(agent: world.server.agent, coordinator: coordinator, account: account))
    }
  }

  @Test func stepUpByAnotherMethod_satisfiesPoliciesOfThatMethodOnly() throws {
    try Self.withBadge { world, badges in
      let rule = Capability.StepUpRule(method: .badge, maxAge: .seconds(600))
      #expect(try await badges.decide(rule).failed.first?.facts["method"] == .word("badge"))
      #expect(await badges.verify("4711", for: .seconds(60)) == nil)
      let decision = try await badges.decide(rule)
      #expect(decision.effect == .allow)
      #expect(decision.validFor.map { (.seconds(59)...(.seconds(60))).contains($0) } == true, "\(decision)")
      let pin = Capability.StepUpRule(method: .pin, maxAge: .seconds(600))
      #expect(try await badges.decide(pin).reason == .stepUpRequired, "a badge does not replace a PIN")
    }
  }

  /// The agent counts attempts, pauses and the end of the attempts.
  @Test func attemptsOfAnotherMethod_areCountedLikePINAttempts() throws {
    try Self.withBadge { world, badges in
      let failed = await badges.verify("9")
      #expect(failed?.kind == .stepUpFailed && failed.map(RPCError.init)?.reason == "wrongbadge")
      #expect(await badges.verify("4712")?.kind == .stepUpFailed, "a key that is another is as wrong")
      #expect(await badges.verify("unreadable")?.kind == .storeUnavailable)
      #expect(await badges.verify("4711")?.kind == .stepUpThrottled)
      await world.clock.sleep(for: .seconds(1))
      #expect(await badges.verify("4711") == nil)
      let left = try await badges.left()
      #expect(left == 7)
    }
  }

  @Test func secretOfOneMethod_isNotJudgedByAnother() throws {
    try Self.withBadge { world, badges in
      #expect(await badges.verify("4711", by: .pin)?.kind == .notFound, "no PIN is set")
      #expect(await badges.verify("4711", by: StepUpMethod(rawValue: "face"))?.kind == .notFound)
      #expect(try await badges.left() == 10)
      let client = try world.client()
      let answer = await client.call("stepUp.verify", #"{"account":"work","pin":"4711"}"#)
      #expect(answer.code == 6003 && answer.json["error", "data", "kind"] == "pin")
      client.disconnect()
    }
  }
}
