import AgentCore
import AgentModel
import Testing

/// Worse facts never widen a decision: over random policies and random facts.
@Suite struct PolicyProperties {
  typealias Random = TokenMachineProperties.Random

  private struct World {
    var random: Random
    static let names = ["a", "b", "c"]

    mutating func some<Value>(_ value: @autoclosure () -> Value) -> Value? {
      Bool.random(using: &random) ? value() : nil
    }
    mutating func span() -> Milliseconds { .seconds([0, 1, 60, 300, 3600].randomElement(using: &random)!) }
    mutating func names() -> [String] { Self.names.filter { _ in Int.random(in: 0..<4, using: &random) == 0 } }
    mutating func list() -> [String]? {
      let list = names()
      return list.isEmpty ? nil : list
    }

    mutating func capability() -> Capability {
      var rule = Capability(kind: Capability.Kind.allCases.randomElement(using: &random)!)
      rule.sensitivity = Sensitivity.allCases.randomElement(using: &random)!
      rule.requires = .init(rolesAny: list(), rolesAll: list(), scopesAll: list(), entitlementsAll: list())
      if Bool.random(using: &random) { rule.offlineWindow = span() }
      rule.token = Capability.TokenRule.allCases.randomElement(using: &random)!
      if Bool.random(using: &random) { rule.onlineWithin = span() }
      if Int.random(in: 0..<3, using: &random) == 0 { rule.stepUp = .init(method: .pin, maxAge: .seconds(60)) }
      if Int.random(in: 0..<3, using: &random) == 0 { rule.snapshotMaxAge = span() }
      rule.onReauthentication = Capability.ReauthenticationRule.allCases.randomElement(using: &random)!
      rule.onClockSuspect = Capability.SuspectClockRule.allCases.randomElement(using: &random)!
      if Int.random(in: 0..<4, using: &random) == 0 { rule.forbids = [.init(whenRole: "forbidden")] }
      if Int.random(in: 0..<4, using: &random) == 0 { rule.forbids.append(.init(whenEntitlement: "suspended")) }
      return rule
    }

    mutating func facts() -> PolicyFacts {
      var held = Set(Self.names)
      if Int.random(in: 0..<6, using: &random) == 0 { held.insert("forbidden") }
      let isHeld = Bool.random(using: &random)
      return PolicyFacts(
        state: [.active, .active, .active, .offlineStale, .interactionRequired, .reauthenticationRequired, .locked]
          .randomElement(using: &random)!,
        isOnline: Bool.random(using: &random), confirmationAge: span(),
        token: [.unexpired(remaining: span()), .unexpired(remaining: nil), .expired, .none]
          .randomElement(using: &random)!,
        tokenScopes: isHeld ? nil : held,
        snapshot: .init(roles: NameSet(held), scopes: held, entitlements: NameSet(held), age: span(), version: 1),
        stepUpAges: Bool.random(using: &random) ? [.pin: span()] : [:],
        stepUpsLeft: Bool.random(using: &random) ? [.pin: span()] : [:],
        clock: Bool.random(using: &random) ? .trusted : .suspect)
    }
  }

  private static func rank(_ effect: Decision.Effect) -> Int {
    switch effect {
    case .deny: 0
    case .readOnly: 1
    case .allow: 2
    }
  }

  private typealias Worsening = (String, @Sendable (inout PolicyFacts, inout PolicyContext, inout Random) -> Void)

  private static let worsenings: [Worsening] = [
    ("offline", { facts, _, _ in facts.isOnline = false }),
    (
      "older",
      { facts, _, random in
        let age = facts.confirmationAge ?? .zero
        facts.confirmationAge = age + .seconds(Int64.random(in: 1...7200, using: &random))
      }
    ),
    ("never confirmed", { facts, _, _ in facts.confirmationAge = nil }),
    (
      "older snapshot",
      { facts, _, random in
        let age = facts.snapshot?.age ?? .zero
        facts.snapshot?.age = age + .seconds(Int64.random(in: 1...7200, using: &random))
      }
    ),
    ("no snapshot", { facts, _, _ in facts.snapshot = nil }),
    ("fewer roles", { facts, _, random in facts.snapshot?.roles.remove(World.names.randomElement(using: &random)!) }),
    ("fewer scopes", { facts, _, random in facts.snapshot?.scopes.remove(World.names.randomElement(using: &random)!) }),
    (
      "fewer of the token's scopes",
      { facts, _, random in
        facts.tokenScopes = (facts.tokenScopes ?? facts.snapshot?.scopes ?? []).subtracting(
          [World.names.randomElement(using: &random)!])
      }
    ),
    (
      "fewer entitlements",
      { facts, _, random in
        facts.snapshot?.entitlements.remove(World.names.randomElement(using: &random)!)
      }
    ),
    ("entitlements that were never reported", { facts, _, _ in facts.snapshot?.knowsEntitlements = false }),
    ("a role that is forbidden", { facts, _, _ in facts.snapshot?.roles.insert("forbidden") }),
    ("suspect clock", { facts, _, _ in facts.clock = .suspect }),
    ("expired token", { facts, _, _ in facts.token = .expired }),
    ("no step-up", { facts, _, _ in facts.stepUpAges = [:] }),
    ("a step-up that is over", { facts, _, _ in facts.stepUpsLeft = [.pin: .zero] }),
    ("older step-up", { facts, _, _ in facts.stepUpAges = facts.stepUpAges.mapValues { $0 + .seconds(61) } }),
    (
      "a new sign-in is asked for",
      { facts, _, _ in
        if facts.state != .locked { facts.state = .reauthenticationRequired }
      }
    ),
    ("locked", { facts, _, _ in facts.state = .locked }),
    ("signed out", { facts, _, _ in facts.state = .signedOut }),
    (
      "more sensitive",
      { _, context, _ in
        context.sensitivity = context.sensitivity == nil || context.sensitivity == .public ? .confidential : .restricted
      }
    ),
  ]

  @Test func worseFacts_neverWidenADecision() {
    for seed in UInt64(0)..<4000 {
      var world = World(random: Random(state: seed))
      let document = PolicyDocument(name: "p", version: 1, capabilities: ["c": world.capability()])
      let facts = world.facts()
      let context = PolicyContext(sensitivity: world.some(.internal))
      let before = PolicyEngine.decide("c", context: context, facts: facts, under: .document(document))
      #expect(before == PolicyEngine.decide("c", context: context, facts: facts, under: .document(document)))
      for (name, worsen) in Self.worsenings {
        var (worse, narrower) = (facts, context)
        worsen(&worse, &narrower, &world.random)
        let after = PolicyEngine.decide("c", context: narrower, facts: worse, under: .document(document))
        #expect(Self.rank(after.effect) <= Self.rank(before.effect), "seed \(seed): \(name) widened")
      }
      #expect((before.effect == .allow) == before.failed.isEmpty, "seed \(seed)")
      #expect(before.effect == .allow || before.reason == before.failed.first?.reason, "seed \(seed)")
      #expect(before.remedies.isEmpty == before.failed.isEmpty, "seed \(seed)")
    }
  }

  /// By time alone: an allowed decision holds until `validFor`, and ends soon after it when time ends it.
  @Test func validFor_isWhenTimeChangesTheDecision() {
    func later(_ facts: PolicyFacts, by span: Milliseconds) -> PolicyFacts {
      var later = facts
      later.confirmationAge = facts.confirmationAge.map { $0 + span }
      later.snapshot?.age = facts.snapshot!.age + span
      later.stepUpAges = facts.stepUpAges.mapValues { $0 + span }
      later.stepUpsLeft = facts.stepUpsLeft.mapValues { $0 - span }
      if case .unexpired(let remaining?) = facts.token {
        later.token = remaining > span ? .unexpired(remaining: remaining - span) : .expired
      }
      return later
    }
    var ended = 0
    for seed in UInt64(0)..<4000 {
      var world = World(random: Random(state: seed))
      let policy = PolicyEngine.Policy.document(
        PolicyDocument(name: "p", version: 1, capabilities: ["c": world.capability()]))
      let facts = world.facts()
      let now = PolicyEngine.decide("c", facts: facts, under: policy)
      guard now.effect != .deny else { continue }
      let span = now.validFor ?? .days(3650)
      if span > .zero {
        let before = PolicyEngine.decide("c", facts: later(facts, by: span - Milliseconds(1)), under: policy)
        #expect(before.effect == now.effect, "seed \(seed): it ended before its time")
      }
      if now.validFor != nil {
        ended += 1
        let after = PolicyEngine.decide("c", facts: later(facts, by: span + .seconds(1)), under: policy)
        #expect(after.effect == .deny, "seed \(seed): it holds longer than it said")
      }
    }
    #expect(ended > 100)
  }
}

extension NameSet {
  fileprivate mutating func remove(_ name: String) { self = NameSet(sorted().filter { $0 != name }) }
}
