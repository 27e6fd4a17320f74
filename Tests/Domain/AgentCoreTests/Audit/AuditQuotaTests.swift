import AgentCore
import AgentModel
import Testing

@Suite struct AuditQuotaTests {
  private static let start = BootInstant(milliseconds: 50_000)

  private static func quota() -> AuditQuota {
    var limits = AuditQuota.Limits()
    (limits.decisions, limits.security) = (100, 10)
    return AuditQuota(limits)
  }

  @Test func clientBeyondItsQuota_waitsAndOthersDoNot() {
    var quota = Self.quota()
    #expect(quota.take(60, of: .decisions, by: ["a"], at: Self.start) == nil)
    #expect(quota.take(60, of: .decisions, by: ["a"], at: Self.start) == .seconds(20 * 36))
    #expect(quota.take(40, of: .decisions, by: ["a"], at: Self.start) == nil, "a refusal takes nothing")
    #expect(quota.take(1, of: .decisions, by: ["a"], at: Self.start) == .seconds(36))
    #expect(quota.take(100, of: .decisions, by: ["b"], at: Self.start) == nil)
    #expect(quota.take(10, of: .security, by: ["a"], at: Self.start) == nil, "each ring has its own")
    #expect(quota.take(1, of: .decisions, by: ["a"], at: Self.start + .seconds(36)) == nil)
    #expect(quota.take(100, of: .decisions, by: ["a"], at: Self.start + .seconds(7_200)) == nil)
  }

  @Test func grantMadeUnderAnother_takesFromBoth() {
    var quota = Self.quota()
    #expect(quota.take(70, of: .decisions, by: ["parent", "one"], at: Self.start) == nil)
    #expect(quota.take(70, of: .decisions, by: ["parent", "two"], at: Self.start) != nil)
    #expect(quota.take(30, of: .decisions, by: ["parent", "two"], at: Self.start) == nil)
  }

  @Test func manyNames_gainNothingInTheEnd() {
    var quota = Self.quota()
    var taken = 0
    for name in 0..<5_000 where quota.take(100, of: .decisions, by: ["\(name)"], at: Self.start) == nil { taken += 1 }
    #expect(taken == AuditQuota.mostClients + 1)
    #expect(quota.take(100, of: .decisions, by: ["other"], at: Self.start + .seconds(7_200)) == nil)
  }

  @Test func agentItself_hasNoQuota() {
    var quota = Self.quota()
    #expect(quota.take(1_000, of: .security, by: [], at: Self.start) == nil)
  }
}
