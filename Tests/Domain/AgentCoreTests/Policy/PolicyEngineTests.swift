import AgentCore
import AgentModel
import Testing

/// The checks of a decision (docs/offline.md, Decisions), one by one.
@Suite struct PolicyEngineTests {
  private func decide(
    _ rule: String, _ facts: PolicyFacts = .technician(), context: PolicyContext = PolicyContext(), more: String = ""
  ) throws -> Decision {
    PolicyEngine.decide(
      "c", context: context, facts: facts, under: .document(try PolicyStories.document(rule, more: more)))
  }

  // MARK: the example

  private struct Tier {
    var after: Milliseconds
    var view, note, complete: Decision.Reason
  }

  /// Viewing for seven days; notes for 48 hours, with a PIN every twelve; completing within five minutes.
  @Test func examplePolicy_decidesByTimeOffline() {
    let table: [Tier] = [
      Tier(after: .zero, view: .allowed, note: .allowed, complete: .allowed),
      Tier(after: .seconds(300), view: .allowed, note: .allowed, complete: .allowed),
      Tier(after: .seconds(301), view: .allowed, note: .allowed, complete: .onlineRequired),
      Tier(after: .hours(47), view: .allowed, note: .allowed, complete: .onlineRequired),
      Tier(after: .hours(49), view: .allowed, note: .offlineWindowExpired, complete: .onlineRequired),
      Tier(after: .days(6) + .hours(23), view: .allowed, note: .offlineWindowExpired, complete: .onlineRequired),
      Tier(
        after: .days(7) + .hours(1), view: .offlineWindowExpired, note: .offlineWindowExpired, complete: .onlineRequired
      ),
      Tier(after: .days(8), view: .offlineWindowExpired, note: .offlineWindowExpired, complete: .onlineRequired),
    ]
    for tier in table {
      let facts = PolicyFacts.offline(for: tier.after, stepUp: .hours(1))
      func reason(_ name: String) -> Decision.Reason {
        PolicyEngine.decide("workOrder." + name, facts: facts, under: .document(PolicyStories.fieldService)).reason
      }
      #expect(reason("view") == tier.view, "view after \(tier.after.wholeSeconds) s")
      #expect(reason("note") == tier.note, "note after \(tier.after.wholeSeconds) s")
      #expect(reason("complete") == tier.complete, "complete after \(tier.after.wholeSeconds) s")
    }
  }

  @Test func examplePolicy_asksForAPinEveryTwelveHours() {
    for (age, reason) in [
      (nil, Decision.Reason.stepUpRequired), (.hours(12), .allowed), (.hours(12) + .seconds(1), .stepUpRequired),
    ] as [(Milliseconds?, Decision.Reason)] {
      let facts = PolicyFacts.offline(for: .hours(20), stepUp: age)
      let decision = PolicyEngine.decide("workOrder.note", facts: facts, under: .document(PolicyStories.fieldService))
      #expect(decision.reason == reason)
      #expect(decision.remedies == (reason == .allowed ? [] : [.stepUp]))
    }
  }

  @Test func stepUpOfACapabilityWithApprove_isThePersonsWhoApproves() throws {
    let policy = try PolicyDocument(
      parsing: Array(
        """
        {"name":"p","version":1,"tiers":{"pin":{"offlineWindowSeconds":86400,"stepUp":{"method":"pin","maxAgeSeconds":60}}},
         "capabilities":{"asked":{"kind":"write","tier":"pin","approve":{"waitSeconds":60}},
                         "plain":{"kind":"write","tier":"pin"}}}
        """.utf8))
    var facts = PolicyFacts.offline(for: .hours(1))
    func reason(_ capability: String) -> Decision.Reason {
      PolicyEngine.decide(capability, facts: facts, under: .document(policy)).reason
    }
    #expect(reason("asked") == .stepUpRequired && reason("plain") == .stepUpRequired)
    facts.isApprovedByPerson = true
    #expect(reason("asked") == .allowed && reason("plain") == .stepUpRequired)
  }

  /// A step-up granted for ten minutes does not count in the eleventh, even where a policy accepts older ones.
  @Test func stepUp_countsNoLongerThanItWasGrantedFor() {
    var facts = PolicyFacts.offline(for: .hours(20), stepUp: .seconds(540))
    facts.stepUpsLeft = [.pin: .seconds(60)]
    func decision() -> Decision {
      PolicyEngine.decide("workOrder.note", facts: facts, under: .document(PolicyStories.fieldService))
    }
    #expect(decision().effect == .allow && decision().validFor == .seconds(60))
    facts.stepUpsLeft = [.pin: .hours(40)]
    #expect(decision().validFor == .hours(12) - .seconds(540), "and no longer than the policy takes")
    facts.stepUpsLeft = [.pin: .zero]
    #expect(decision().reason == .stepUpRequired && decision().remedies == [.stepUp])
    #expect(decision().failed.first?.facts["ageSeconds"] == nil, "one that is over has no age")
  }

  @Test func examplePolicy_forbidsTraineesToComplete() {
    let facts = PolicyFacts.technician { $0.snapshot?.roles.insert("trainee") }
    let decision = PolicyEngine.decide("workOrder.complete", facts: facts, under: .document(PolicyStories.fieldService))
    #expect(decision.failed == [.init(.forbids, .forbidden, ["whenRole": .word("trainee")])])
    #expect(decision.remedies == [.administrator])
  }

  // MARK: deny by default

  @Test func unknownCapabilityOrPolicy_isDenied() throws {
    let facts = PolicyFacts.technician()
    let unknown = PolicyEngine.decide("x", facts: facts, under: .document(PolicyStories.fieldService))
    #expect(unknown.reason == .unknownCapability && unknown.effect == .deny && unknown.remedies == [.administrator])
    #expect(unknown.policyName == "field-service" && unknown.policyVersion == 1)
    let none = PolicyEngine.decide("x", facts: facts, under: .none)
    #expect(none.reason == .unknownCapability && none.effect == .deny && none.policyName.isEmpty)
    let unreadable = PolicyEngine.decide("x", facts: facts, under: .unreadable(name: "gone"))
    #expect(unreadable.reason == .policyError && unreadable.effect == .deny && unreadable.policyName == "gone")
    let silent = try decide(#"{"kind":"read"}"#, .technician { $0.snapshot = nil })
    #expect(silent.failed == [.init(.snapshot, .snapshotMissing)] && silent.snapshotVersion == 0)
    #expect(silent.remedies == [.connect])
  }

  @Test func ruleWithoutConditions_allowsWhileOnlineWithAToken() throws {
    let rule = #"{"kind":"write"}"#
    #expect(try decide(rule).effect == .allow)
    #expect(try decide(rule).validFor == .seconds(60), "as long as a confirmation counts")
    #expect(try decide(rule, .technician { $0.token = .unexpired(remaining: .seconds(20)) }).validFor == .seconds(20))
    let late = try decide(rule, .technician { $0.confirmationAge = .seconds(61) })
    #expect(late.reason == .freshTokenRequired && late.remedies == [.connect] && late.question != nil)
    #expect(try decide(rule, .technician { $0.isOnline = false }).reason == .onlineRequired)
    #expect(try decide(rule, .technician { $0.token = .expired }).reason == .freshTokenRequired)
    #expect(try decide(rule, .technician { $0.token = .none }).reason == .freshTokenRequired)
  }

  // MARK: state

  @Test func accountState_decidesReasonAndRemedy() throws {
    let rule = #"{"kind":"write","offlineWindowSeconds":600}"#
    let table: [(PolicyFacts.State, Decision.Reason, [Decision.Remedy])] = [
      (.active, .allowed, []), (.offlineStale, .allowed, []), (.interactionRequired, .allowed, []),
      (.reauthenticationRequired, .reauthenticationRequired, [.reauthenticate]),
      (.locked, .accountLocked, [.administrator]), (.signedOut, .signedOut, [.reauthenticate]),
    ]
    for (state, reason, remedies) in table {
      let decision = try decide(rule, .technician { $0.state = state })
      #expect(decision.reason == reason && decision.remedies == remedies, "\(state)")
    }
  }

  @Test func accountThatWasNeverConfirmed_isAskedForUnlessThePersonMustSignIn() throws {
    let rule = #"{"kind":"write","offlineWindowSeconds":600,"requires":{"rolesAny":["technician"]}}"#
    func never(_ state: PolicyFacts.State) throws -> Decision {
      try decide(
        rule,
        .technician {
          $0.state = state; $0.confirmationAge = nil; $0.token = .none
        })
    }
    let restored = try never(.active)
    #expect(restored.failed == [.init(.state, .neverAuthenticated)] && restored.remedies == [.connect])
    #expect(restored.question == ProviderQuestion(roles: true))
    for state in [PolicyFacts.State.reauthenticationRequired, .signedOut] {
      #expect(try never(state).remedies == [.reauthenticate] && never(state).question == nil, "\(state)")
    }
  }

  /// A key without `whoami` is confirmed when the person gives it, and by nothing else.
  @Test func accountThatNothingAsksAbout_isConfirmedByItsKeyAlone() throws {
    func key(_ change: (inout PolicyFacts) -> Void = { _ in }) -> PolicyFacts {
      .technician {
        $0.providerCanBeAsked = false
        $0.confirmationAge = .seconds(700)
        change(&$0)
      }
    }
    let window = #"{"kind":"read","offlineWindowSeconds":600}"#
    #expect(try decide(window, .technician { $0.confirmationAge = .seconds(700) }).remedies == [.connect])
    #expect(try decide(window, key()).remedies == [.reauthenticate])
    #expect(try decide(#"{"kind":"read"}"#, key { $0.isOnline = false }).remedies == [.reauthenticate])
    #expect(try decide(window, key { $0.clock = .suspect }).remedies == [.reauthenticate])
    // The administrator has to give the role, whatever key the person gives.
    let chief = #"{"kind":"read","offlineWindowSeconds":600,"requires":{"rolesAny":["chief"]}}"#
    #expect(try decide(chief, key()).remedies == [.administrator])
    let unknown = try decide(
      #"{"kind":"read","offlineWindowSeconds":900}"#, key { $0.snapshot?.knowsRoles = false },
      more: #","forbids":[{"capabilities":["c"],"whenRole":"trainee"}]"#)
    #expect(unknown.failed.map(\.reason) == [.snapshotMissing] && unknown.remedies == [.administrator])
  }

  @Test func endOfASession_isToldWithItsReason() throws {
    let decision = try decide(
      #"{"kind":"write","offlineWindowSeconds":600}"#,
      .technician {
        $0.state = .reauthenticationRequired; $0.endReason = "outcomeUnknown"
      })
    let failure = Decision.Failure(.state, .reauthenticationRequired, ["because": .word("outcomeUnknown")])
    #expect(decision.failed == [failure])
  }

  @Test func readOnlyRule_allowsReadingWhileReauthenticationIsRequired() throws {
    let facts = PolicyFacts.technician { $0.state = .reauthenticationRequired }
    func rule(_ kind: String, _ members: String) -> String {
      #"{"kind":"\#(kind)","offlineWindowSeconds":600,"obligations":["watermark"]\#(members)}"#
    }
    let reading = try decide(rule("read", #","onReauthentication":"readOnly""#), facts)
    #expect(reading.effect == .readOnly && reading.reason == .reauthenticationRequired)
    #expect(reading.obligations == ["watermark"] && reading.remedies == [.reauthenticate])
    #expect(reading.validFor == .seconds(600))
    #expect(try decide(rule("read", ""), facts).effect == .deny)
    #expect(try decide(rule("write", #","onReauthentication":"readOnly""#), facts).effect == .deny)
    #expect(try decide(rule("read", ""), facts, more: #","onReauthentication":"readOnly""#).effect == .readOnly)
    // The offline window still runs, and every other check still counts.
    var later = facts
    later.confirmationAge = .seconds(700)
    let expired = try decide(rule("read", #","onReauthentication":"readOnly""#), later)
    #expect(
      expired.effect == .deny && expired.failed.map(\.reason) == [.reauthenticationRequired, .offlineWindowExpired])
    #expect(expired.obligations.isEmpty && expired.validFor == nil)
  }

  // MARK: clock, snapshot, rights

  @Test func suspectClock_deniesUnlessTheRuleShrinks() throws {
    let facts = PolicyFacts.technician { $0.clock = .suspect }
    let denied = try decide(#"{"kind":"read"}"#, facts)
    #expect(denied.reason == .clockSuspect && denied.remedies == [.connect])
    #expect(denied.failed == [.init(.clock, .clockSuspect)], "an assumption has no distance")
    // An exchange tells the provider's time.
    #expect(denied.question == ProviderQuestion(time: true))
    let behind = try decide(#"{"kind":"read"}"#, .technician { ($0.clock, $0.clockBehind) = (.suspect, .seconds(721)) })
    #expect(behind.failed == [.init(.clock, .clockSuspect, ["behindSeconds": .seconds(721)])])
    #expect(try decide(#"{"kind":"read","onClockSuspect":"shrink"}"#, facts).effect == .allow)
    #expect(try decide(#"{"kind":"read"}"#, facts, more: #","onClockSuspect":"shrink""#).effect == .allow)
  }

  @Test func snapshotOverItsMaximumAge_isDenied() throws {
    let rule = #"{"kind":"read","snapshotMaxAgeSeconds":100}"#
    #expect(try decide(rule, .technician { $0.snapshot?.age = .seconds(40) }).validFor == .seconds(60))
    let old = try decide(rule, .technician { $0.snapshot?.age = .seconds(101) })
    #expect(
      old.failed == [
        .init(
          .snapshot, .snapshotTooOld, ["snapshotMaxAgeSeconds": .seconds(100), "snapshotAgeSeconds": .seconds(101)])
      ])
  }

  @Test func missingRolesScopesAndEntitlements_areNamed() throws {
    let rule = """
      {"kind":"write","requires":{"rolesAny":["supervisor","chief"],"rolesAll":["technician","driver"],\
      "scopesAll":["workorders:write","mail"],"entitlementsAll":["north","south"]}}
      """
    let decision = try decide(rule)
    #expect(
      decision.failed == [
        .init(.roles, .missingRole, ["missing": .words(["driver"]), "rolesAny": .words(["supervisor", "chief"])]),
        .init(.scopes, .missingScope, ["missing": .words(["mail"])]),
        .init(.entitlements, .missingEntitlement, ["missing": .words(["south"])]),
      ])
    #expect(decision.reason == .missingRole && decision.remedies == [.administrator])
  }

  @Test func narrowerTokenScopes_overrideTheSnapshotsScopes() throws {
    let rule = #"{"kind":"write","requires":{"scopesAll":["workorders:write"]}}"#
    #expect(
      try decide(rule, .technician { $0.tokenScopes = ["workorders:read", "workorders:write"] }).effect == .allow)
    #expect(try decide(rule, .technician { $0.tokenScopes = ["workorders:read"] }).reason == .missingScope)
    let wider = try decide(
      rule,
      .technician {
        $0.tokenScopes = ["workorders:write"]; $0.snapshot?.scopes = ["workorders:read"]
      })
    #expect(wider.reason == .missingScope)
  }

  @Test func forbid_appliesWhenAllItsConditionsHold() throws {
    func more(_ conditions: String) -> String { #","forbids":[{"capabilities":["c"]\#(conditions)}]"# }
    let rule = #"{"kind":"read"}"#
    #expect(try decide(rule, more: more("")).reason == .forbidden)
    #expect(try decide(rule, more: more(#","whenRole":"technician""#)).reason == .forbidden)
    #expect(
      try decide(rule, more: more(#","whenScope":"workorders:read","whenEntitlement":"north""#)).reason == .forbidden)
    #expect(try decide(rule, more: more(#","whenRole":"technician","whenEntitlement":"south""#)).effect == .allow)
  }

  @Test func forbiddenRoleWithUnknownRoles_isNotTakenAsAbsent() throws {
    let facts = PolicyFacts.technician {
      $0.snapshot?.roles = []; $0.snapshot?.knowsRoles = false
    }
    func decide(_ forbids: String) throws -> Decision {
      try self.decide(#"{"kind":"read"}"#, facts, more: #","forbids":[{"capabilities":["c"]\#(forbids)}]"#)
    }
    let denied = try decide(#","whenRole":"trainee""#)
    #expect(denied.failed == [.init(.snapshot, .snapshotMissing, ["missing": .words(["roles"])])])
    #expect(denied.remedies == [.connect])
    #expect(try decide(#","whenScope":"nobody's""#).effect == .allow)
  }

  // MARK: online, token, window

  @Test func unexpiredTokenRule_needsAnUnexpiredTokenOffline() throws {
    let rule = #"{"kind":"read","token":"unexpired","offlineWindowSeconds":600}"#
    #expect(try decide(rule, .offline(for: .seconds(100))).validFor == .seconds(200))
    let expired = try decide(rule, .offline(for: .seconds(400)))
    #expect(expired.failed == [.init(.token, .freshTokenRequired, ["token": .word("unexpired")])])
    #expect(expired.remedies == [.connect])
  }

  @Test func freshTokenRule_isNotMetByAnOfflineWindow() throws {
    let rule = #"{"kind":"read","token":"fresh","offlineWindowSeconds":600}"#
    #expect(try decide(rule).effect == .allow)
    #expect(try decide(rule, .offline(for: .seconds(10))).reason == .onlineRequired)
    #expect(try decide(rule, .technician { $0.token = .expired }).reason == .freshTokenRequired)
  }

  @Test func offlineWindow_countsFromTheConfirmationNotTheToken() throws {
    let rule = #"{"kind":"read","offlineWindowSeconds":600}"#
    #expect(try decide(rule).validFor == .seconds(600))
    for remaining in [Milliseconds.seconds(3600), nil] {
      #expect(
        try decide(rule, .technician { $0.token = .unexpired(remaining: remaining) }).validFor == .seconds(600))
    }
    let unasked = try decide(
      rule,
      .technician {
        $0.token = .unexpired(remaining: .days(30)); $0.confirmationAge = .days(29)
      })
    #expect(unasked.reason == .offlineWindowExpired, "an unexpired token is no confirmation")
    let idle = PolicyFacts.technician {
      $0.token = .expired; $0.confirmationAge = .seconds(700)
    }
    #expect(try decide(rule, idle).reason == .offlineWindowExpired, "online, and the last confirmation is old")
  }

  @Test func freshRule_asksForAConfirmationWithinItsLimit() throws {
    let rule = #"{"kind":"write","token":"fresh","onlineWithinSeconds":300}"#
    func aged(_ seconds: Int64, isOnline: Bool = true) -> PolicyFacts {
      .technician {
        $0.confirmationAge = .seconds(seconds)
        $0.isOnline = isOnline
        $0.token = .unexpired(remaining: .days(1))
      }
    }
    #expect(try decide(rule, aged(300)).effect == .allow)
    #expect(try decide(rule, aged(100)).validFor == .seconds(200))
    #expect(try decide(rule, aged(301)).reason == .freshTokenRequired)
    #expect(try decide(rule, aged(100, isOnline: false)).effect == .allow, "given by the policy, it holds offline")
    let short = #"{"kind":"write","token":"fresh","onlineWithinSeconds":5}"#
    #expect(try decide(short, aged(6)).reason == .freshTokenRequired)
    let standard = #"{"kind":"write","token":"fresh"}"#
    #expect(try decide(standard, aged(60)).effect == .allow)
    #expect(try decide(standard, aged(61)).reason == .freshTokenRequired)
    #expect(try decide(standard, aged(10, isOnline: false)).reason == .onlineRequired)
  }

  /// The default of 60 s for being online does not lengthen a window that the policy gives.
  @Test func windowUnderAMinute_endsByItsOwnLength() throws {
    let rule = #"{"kind":"read","offlineWindowSeconds":10}"#
    func aged(_ seconds: Int64, isOnline: Bool = true) -> PolicyFacts {
      .technician {
        $0.confirmationAge = .seconds(seconds)
        $0.isOnline = isOnline
      }
    }
    for isOnline in [true, false] {
      #expect(try decide(rule, aged(9, isOnline: isOnline)).validFor == .seconds(1))
      #expect(try decide(rule, aged(10, isOnline: isOnline)).validFor == .zero)
      let over = try decide(rule, aged(11, isOnline: isOnline))
      #expect(
        over.failed == [
          .init(
            .window, .offlineWindowExpired,
            ["offlineWindowSeconds": .seconds(10), "lastOnlineAuthAgeSeconds": .seconds(11)])
        ])
      #expect(over.question != nil, "the denial has the provider asked")
    }
    let fresh = #"{"kind":"read","offlineWindowSeconds":10,"token":"fresh"}"#
    #expect(try decide(fresh, aged(60)).effect == .allow, "the window does not count")
    let both = #"{"kind":"read","offlineWindowSeconds":10,"onlineWithinSeconds":30}"#
    #expect(try decide(both, aged(29)).validFor == .seconds(1), "the policy gave a limit for being online")
    #expect(try decide(both, aged(31)).reason == .offlineWindowExpired)
  }

  @Test func windowOfZero_isAsNone() throws {
    let rule = #"{"kind":"read","offlineWindowSeconds":0}"#
    #expect(try decide(rule).validFor == .seconds(60))
    #expect(try decide(rule, .technician { $0.isOnline = false }).reason == .onlineRequired)
    #expect(try PolicyStories.document(rule).longestOfflineWindow(in: .active) == nil)
    let tier = try PolicyStories.document(rule)
    #expect(tier.capabilities.values.allSatisfy { $0.offlineWindow == nil })
  }

  /// A limit of 0 s: the first second, in which `validForSeconds` is 1 at the moment of the confirmation.
  @Test(arguments: [true, false]) func onlineWithinZeroSeconds_holdsForTheFirstSecond(isOnline: Bool) throws {
    let rule = #"{"kind":"write","token":"fresh","onlineWithinSeconds":0}"#
    func aged(_ milliseconds: Int64) -> PolicyFacts {
      .technician {
        $0.confirmationAge = Milliseconds(milliseconds)
        $0.isOnline = isOnline
      }
    }
    #expect(try decide(rule, aged(0)).validFor == .seconds(1))
    #expect(try decide(rule, aged(999)).validFor == Milliseconds(1))
    #expect(try decide(rule, aged(1_000)).effect == .deny)
  }

  @Test func denialForWantOfAnAnswer_namesWhatToAskFor() throws {
    func question(_ rule: String, more: String = "", _ change: (inout PolicyFacts) -> Void = { _ in }) throws
      -> ProviderQuestion?
    {
      try decide(
        rule,
        .technician {
          $0.confirmationAge = .seconds(700)
          change(&$0)
        }, more: more
      ).question
    }
    #expect(try question(#"{"kind":"read"}"#) == ProviderQuestion())
    #expect(try question(#"{"kind":"read","requires":{"rolesAny":["technician"]}}"#) == ProviderQuestion(roles: true))
    #expect(
      try question(#"{"kind":"read"}"#, more: #","forbids":[{"capabilities":["c"],"whenEntitlement":"x"}]"#)
        == ProviderQuestion(entitlements: true))
    #expect(
      try question(#"{"kind":"read","offlineWindowSeconds":900,"snapshotMaxAgeSeconds":1}"#) {
        $0.snapshot?.age = .days(1)
      }
        == ProviderQuestion(wholeSnapshot: true))
    // Allowed, or nothing that the provider's answer could change.
    #expect(try question(#"{"kind":"read","offlineWindowSeconds":900}"#) == nil)
    #expect(try question(#"{"kind":"read"}"#) { $0.state = .reauthenticationRequired } == nil)
    #expect(try question(#"{"kind":"read"}"#) { $0.state = .locked } == nil)
    #expect(try question(#"{"kind":"read"}"#, more: #","forbids":[{"capabilities":["c"]}]"#) == nil)
  }

  @Test func remediesThatCantLeadToAllow_areNotOffered() throws {
    let rule = #"{"kind":"write","requires":{"rolesAny":["chief"]},"stepUp":{"method":"pin","maxAgeSeconds":60}}"#
    let denied = try decide(rule)
    #expect(denied.failed.map(\.reason) == [.missingRole, .stepUpRequired])
    #expect(denied.remedies == [.administrator], "a PIN gives no role")
    // The role may have been given since the provider's last answer.
    let stale = try decide(rule, .technician { $0.confirmationAge = .seconds(700) })
    #expect(stale.remedies == [.connect, .administrator])
    let both = try decide(
      #"{"kind":"write","requires":{"scopesAll":["mail"]},"stepUp":{"method":"pin","maxAgeSeconds":60}}"#)
    #expect(both.remedies == [.stepUp, .interact], "each is needed, and helps")
  }

  @Test func unknownEntitlements_areNeitherHeldNorAbsent() throws {
    let facts = PolicyFacts.technician {
      $0.snapshot?.entitlements = []; $0.snapshot?.knowsEntitlements = false
    }
    func decide(_ rule: String, _ forbids: String = "") throws -> Decision {
      try self.decide(rule, facts, more: #","forbids":[{"capabilities":["c"],"whenScope":"x"}\#(forbids)]"#)
    }
    let missing = Decision.Failure(.snapshot, .snapshotMissing, ["missing": .words(["entitlements"])])
    let forbidden = try decide(#"{"kind":"read"}"#, #",{"capabilities":["c"],"whenEntitlement":"suspended"}"#)
    #expect(forbidden.failed == [missing] && forbidden.remedies == [.connect])
    #expect(try decide(#"{"kind":"read","requires":{"entitlementsAll":["north"]}}"#).failed == [missing])
    #expect(try decide(#"{"kind":"read"}"#).effect == .allow, "what hangs on no entitlement is decided")
    let apart = #",{"capabilities":["c"],"whenRole":"trainee","whenEntitlement":"suspended"}"#
    #expect(try decide(#"{"kind":"read"}"#, apart).effect == .allow, "the role alone keeps the rule from applying")
  }

  @Test func entitlementsThatNoAnswerReports_areAskedOfTheAdministrator() throws {
    let facts = PolicyFacts.technician {
      $0.snapshot?.entitlements = []; $0.snapshot?.knowsEntitlements = false; $0.snapshot?.learnsEntitlements = false
    }
    let forbidden = try decide(
      #"{"kind":"read"}"#, facts, more: #","forbids":[{"capabilities":["c"],"whenEntitlement":"suspended"}]"#)
    #expect(forbidden.failed.map(\.reason) == [.snapshotMissing])
    #expect(forbidden.remedies == [.administrator] && forbidden.question == nil, "no answer brings any")
    let required = try decide(#"{"kind":"read","requires":{"entitlementsAll":["north"]}}"#, facts)
    #expect(required.failed == forbidden.failed && required.remedies == [.administrator] && required.question == nil)
    #expect(try decide(#"{"kind":"read"}"#, facts).effect == .allow, "what hangs on no entitlement is decided")
  }

  @Test func remedyForAMissingToken_dependsOnTheAccountState() throws {
    let rule = #"{"kind":"read"}"#
    func remedies(_ state: PolicyFacts.State) throws -> [Decision.Remedy] {
      try decide(
        rule,
        .technician {
          $0.state = state; $0.token = .expired
        }
      ).remedies
    }
    #expect(try remedies(.offlineStale) == [.connect])
    #expect(try remedies(.interactionRequired) == [.interact])
    #expect(try remedies(.reauthenticationRequired) == [.reauthenticate])
  }

  // MARK: context

  @Test func dataAboveTheRulesSensitivity_isDenied() throws {
    let rule = #"{"kind":"read","sensitivity":"internal"}"#
    #expect(try decide(rule, context: PolicyContext(sensitivity: .internal)).effect == .allow)
    let high = try decide(rule, context: PolicyContext(sensitivity: .confidential))
    #expect(
      high.failed == [
        .init(.sensitivity, .sensitivityTooHigh, ["sensitivity": .word("confidential"), "atMost": .word("internal")])
      ])
    #expect(try decide(#"{"kind":"read"}"#, context: PolicyContext(sensitivity: .internal)).effect == .deny)
  }

  @Test func failedChecks_areListedInAFixedOrder() throws {
    let rule = """
      {"kind":"write","snapshotMaxAgeSeconds":1,"offlineWindowSeconds":1,"stepUp":{"method":"pin","maxAgeSeconds":1},\
      "requires":{"rolesAny":["x"],"scopesAll":["x"],"entitlementsAll":["x"]}}
      """
    var facts = PolicyFacts.offline(for: .days(1))
    facts.state = .reauthenticationRequired
    facts.clock = .suspect
    let decision = try decide(
      rule, facts, context: PolicyContext(sensitivity: .restricted), more: #","forbids":[{"capabilities":["c"]}]"#)
    #expect(
      decision.failed.map(\.check) == [
        .state, .forbids, .clock, .snapshot, .roles, .scopes, .entitlements, .window, .stepUp, .sensitivity,
      ])
    #expect(decision.remedies == [.administrator])
  }
}
