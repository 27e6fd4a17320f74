import AgentCore
import AgentModel
import Foundation
import Testing

/// The worked policies of docs/offline.md, Worked policies, at the moments of their tables.
@Suite struct PolicyExamplesTests {
  private struct Moment {
    var what: String
    var capability: String
    var reason: Decision.Reason
    var effect: Decision.Effect
    var facts: PolicyFacts

    init(
      _ what: String, _ capability: String, _ reason: Decision.Reason, effect: Decision.Effect? = nil,
      _ facts: PolicyFacts
    ) {
      (self.what, self.capability, self.reason, self.facts) = (what, capability, reason, facts)
      self.effect = effect ?? (reason == .allowed ? .allow : .deny)
    }
  }

  private static func check(_ name: String, _ moments: [Moment]) throws {
    let policy = try PolicyStories.example(name)
    for moment in moments {
      let decision = PolicyEngine.decide(moment.capability, facts: moment.facts, under: .document(policy))
      #expect(decision.reason == moment.reason && decision.effect == moment.effect, "\(name): \(moment.what)")
    }
  }

  private static func person(
    _ roles: Set<String>, scopes: Set<String> = [], entitlements: Set<String> = [], confirmed age: Milliseconds = .zero,
    isOnline: Bool = true, pin: Milliseconds? = nil, change: (inout PolicyFacts) -> Void = { _ in }
  ) -> PolicyFacts {
    .technician {
      $0.snapshot = .init(
        roles: NameSet(roles), scopes: scopes, entitlements: NameSet(entitlements), age: age, version: 1)
      $0.confirmationAge = age
      $0.isOnline = isOnline
      $0.stepUpAges[.pin] = pin
      if age > .seconds(300) { $0.token = .expired }
      change(&$0)
    }
  }

  @Test func fieldService_decidesAsItsTableSays() throws {
    func technician(_ age: Milliseconds, pin: Milliseconds? = nil, roles: Set<String> = ["technician"]) -> PolicyFacts {
      Self.person(
        roles, scopes: ["workorders:read", "workorders:write"], confirmed: age, isOnline: age == .zero, pin: pin)
    }
    try Self.check(
      "field-service",
      [
        Moment("online", "workOrder.view", .allowed, technician(.zero)),
        Moment("six days in a cellar", "workOrder.view", .allowed, technician(.days(6))),
        Moment("eight days", "workOrder.view", .offlineWindowExpired, technician(.days(8))),
        Moment("a note without a PIN", "workOrder.note", .stepUpRequired, technician(.hours(1))),
        Moment("a note with one", "workOrder.note", .allowed, technician(.hours(1), pin: .hours(11))),
        Moment("a PIN of yesterday", "workOrder.note", .stepUpRequired, technician(.hours(1), pin: .hours(13))),
        Moment("five minutes offline", "workOrder.complete", .allowed, technician(.seconds(300))),
        Moment("ten minutes offline", "workOrder.complete", .onlineRequired, technician(.seconds(600))),
        Moment(
          "a trainee", "workOrder.complete", .forbidden, technician(.zero, roles: ["technician", "trainee"])),
      ])
  }

  @Test func hospital_decidesAsItsTableSays() throws {
    let nurse: Set<String> = ["nurse"]
    let physician: Set<String> = ["physician"]
    try Self.check(
      "hospital",
      [
        Moment("a shift offline", "patient.find", .allowed, Self.person(nurse, confirmed: .hours(8), isOnline: false)),
        Moment(
          "after the shift", "patient.find", .offlineWindowExpired,
          Self.person(nurse, confirmed: .hours(9), isOnline: false)),
        Moment("without a PIN", "chart.read", .stepUpRequired, Self.person(nurse)),
        Moment("with a PIN", "chart.read", .allowed, Self.person(nurse, pin: .seconds(600))),
        Moment(
          "the provider wants a sign-in", "chart.read", .reauthenticationRequired, effect: .readOnly,
          Self.person(nurse, confirmed: .hours(2), pin: .seconds(10)) { $0.state = .reauthenticationRequired }),
        Moment(
          "entitlements not heard yet", "chart.read", .snapshotMissing,
          Self.person(nurse, pin: .zero) { $0.snapshot?.knowsEntitlements = false }),
        Moment(
          "suspended", "chart.read", .forbidden, Self.person(nurse, entitlements: ["suspended"], pin: .zero)),
        Moment(
          "twelve hours in an emergency", "chart.emergency", .allowed,
          Self.person(nurse, confirmed: .hours(12), isOnline: false) { $0.clock = .suspect }),
        Moment(
          "a clock that went backwards", "patient.find", .clockSuspect,
          Self.person(nurse, confirmed: .hours(1), isOnline: false) { $0.clock = .suspect }),
        Moment(
          "an order", "medication.order", .allowed,
          Self.person(physician, entitlements: ["prescribe"], confirmed: .seconds(100), pin: .seconds(100))),
        Moment(
          "an order, three minutes after the last confirmation", "medication.order", .freshTokenRequired,
          Self.person(physician, entitlements: ["prescribe"], confirmed: .seconds(180), pin: .zero)),
        Moment(
          "an order by a nurse", "medication.order", .missingRole,
          Self.person(nurse, entitlements: ["prescribe"], pin: .zero)),
      ])
  }

  @Test func contractor_decidesAsItsTableSays() throws {
    let scopes: Set<String> = ["documents:read", "documents:write"]
    func person(_ role: String, _ age: Milliseconds = .zero, scopes: Set<String>) -> PolicyFacts {
      Self.person([role], scopes: scopes, confirmed: age, isOnline: age == .zero)
    }
    try Self.check(
      "contractor",
      [
        Moment("online", "document.read", .allowed, person("contractor", scopes: scopes)),
        Moment("four minutes offline", "document.read", .allowed, person("contractor", .seconds(240), scopes: scopes)),
        Moment(
          "the token has expired", "document.read", .freshTokenRequired,
          person("contractor", .seconds(600), scopes: scopes)),
        Moment("the tier's scope is missing", "drawing.read", .missingScope, person("contractor", scopes: [])),
        Moment("a role that reads drawings", "drawing.read", .allowed, person("contractor", scopes: scopes)),
        Moment("another role", "drawing.read", .missingRole, person("clerk", scopes: scopes)),
        Moment("a contractor writes", "document.write", .forbidden, person("contractor", scopes: scopes)),
        Moment("an employee writes", "document.write", .allowed, person("engineer", scopes: scopes)),
        Moment(
          "an employee writes offline", "document.write", .onlineRequired,
          person("engineer", .seconds(120), scopes: scopes)),
      ])
  }

  @Test func assistant_decidesAsItsTableSays() throws {
    let policy = PolicyEngine.Policy.document(try PolicyStories.example("assistant"))
    func names(_ method: String, _ path: String) throws -> RequestNaming {
      try RequestNaming(of: method, #require(HTTPURL("https://mail.example" + path)), isForAgent: true, under: policy)
    }
    #expect(try names("GET", "/v1/messages/17") == .none)
    #expect(try names("DELETE", "/v1/messages/17") == .none)
    #expect(try names("POST", "/v1/drafts") == .capabilities(["mail.draft"]))
    #expect(try names("POST", "/v1/drafts/send/") == .capabilities(["mail.send", "mail.draft"]))
    #expect(try names("POST", "/v1/drafts/17") == .capabilities(["mail.draft"]))
    #expect(try names("PUT", "/v1/drafts") == .restricting(["mail.draft"]))
    #expect(try names("GET", "/v1/settings/filters") == .capabilities(["mail.settings"]))
    #expect(try names("GET", "/v1/settings") == .restricting(["mail.settings"]))
    let minuteAgo = Self.person([], confirmed: .seconds(60))
    try Self.check(
      "assistant",
      [
        Moment("drafts", "mail.draft", .allowed, minuteAgo),
        Moment("sends without a person", "mail.send", .stepUpRequired, minuteAgo),
        Moment(
          "sends, confirmed nine minutes ago", "mail.send", .allowed,
          Self.person([], confirmed: .seconds(60)) { $0.confirmations["mail.send"] = .seconds(540) }),
        Moment(
          "sends, confirmed eleven minutes ago", "mail.send", .stepUpRequired,
          Self.person([], confirmed: .seconds(60)) { $0.confirmations["mail.send"] = .seconds(660) }),
        Moment(
          "sends, another capability was confirmed", "mail.send", .stepUpRequired,
          Self.person([], confirmed: .seconds(60)) { $0.confirmations["mail.draft"] = .zero }),
        Moment("changes the settings", "mail.settings", .forbidden, minuteAgo),
      ])
    var spent = BudgetWindow(at: BootInstant(milliseconds: 0), bootID: "one")
    for _ in 0..<60 { spent.take() }
    let decision = PolicyEngine.decide(
      "mail.draft", facts: Self.person([], confirmed: .seconds(60)) { $0.budgets["mail.draft"] = spent }, under: policy)
    #expect(decision.reason == .budgetExceeded && decision.remedies.isEmpty)
    #expect(decision.retryAfter == .seconds(3660))
  }
}
