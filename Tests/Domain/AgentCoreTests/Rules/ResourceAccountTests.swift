import AgentCore
import AgentModel
import Testing

struct ResourceAccountTests {
  private let url = HTTPURL("https://git.example/acme/app")!
  private let ids = (0..<3).map { AccountID(bytes: [UInt8](repeating: UInt8($0), count: 16))! }

  private func candidates(fitting: Set<Int>, signedOut: Set<Int> = []) -> [ResourceAccount.Candidate] {
    ids.enumerated().map {
      .init(
        account: $1, names: ["name\($0)", "all"], fitsByProvider: fitting.contains($0),
        isSignedIn: !signedOut.contains($0))
    }
  }

  private func rule(_ name: String, _ pattern: String, _ account: Int) -> ResourceAccount.Rule {
    .init(name: name, pattern: try! ResourcePattern(pattern), account: ids[account])
  }

  private func choose(
    rules: [ResourceAccount.Rule] = [], fitting: Set<Int> = [], signedOut: Set<Int> = [],
    _ hints: ResourceAccount.Hints = .init()
  ) throws(ResourceAccount.Refusal) -> ResourceAccount {
    try ResourceAccount.choose(
      for: url, rules: rules, candidates: candidates(fitting: fitting, signedOut: signedOut), hints: hints)
  }

  @Test func withoutARuleOrAProvider_nothingFits() {
    let hints = ResourceAccount.Hints(user: "name0", directory: [ids[0]], active: ids[0])
    #expect(throws: ResourceAccount.Refusal.noneFits) { try choose(hints) }
    #expect(throws: ResourceAccount.Refusal.noneFits) { try choose(.init(selected: [ids[0]])) }
  }

  @Test func theLongestRule_comesBeforeEveryHint() throws {
    let rules = [rule("host", "https://git.example", 0), rule("acme", "https://git.example/acme/*", 1)]
    let hints = ResourceAccount.Hints(user: "name0", directory: [ids[0]], active: ids[0])
    let chosen = try choose(rules: rules, fitting: [0, 2], hints)
    #expect(chosen.account == ids[1])
    #expect(chosen.basis == .rule("acme"))
  }

  @Test func hints_decideInTheirOrder() throws {
    #expect(try choose(fitting: [0, 1], .init(user: "name1", directory: [ids[0]], active: ids[0])).basis == .user)
    #expect(try choose(fitting: [0, 1], .init(user: "other", directory: [ids[1]], active: ids[0])).account == ids[1])
    #expect(try choose(fitting: [0, 1], .init(directory: [ids[2]], active: ids[1])).basis == .active)
    #expect(try choose(fitting: [1], .init(active: ids[0])).basis == .provider)
    #expect(throws: ResourceAccount.Refusal.ambiguous([ids[0], ids[1]])) { try choose(fitting: [0, 1]) }
  }

  @Test func aPreference_comesAfterTheUserAndInPlaceOfTheDirectory() throws {
    let hints = ResourceAccount.Hints(preferred: [ids[1]], directory: [ids[2]], active: ids[0])
    #expect(try choose(fitting: [0, 1, 2], hints).basis == .preferred)
    #expect(try choose(fitting: [0, 1, 2], hints).account == ids[1])
    #expect(try choose(fitting: [0, 2], hints).basis == .active)
    #expect(try choose(fitting: [0, 1], .init(user: "name0", preferred: [ids[1]])).account == ids[0])
    #expect(try choose(rules: [rule("host", "https://git.example", 0)], fitting: [1], hints).account == ids[0])
    #expect(throws: ResourceAccount.Refusal.noneFits) { try choose(hints) }
    #expect(throws: ResourceAccount.Refusal.ambiguous([ids[0], ids[1]])) {
      try choose(fitting: [0, 1], .init(preferred: [ids[0], ids[1]], active: ids[0]))
    }
  }

  @Test func aPreferenceOrAFileThatNamesNoAccount_isNotPassedOver() throws {
    for hints in [ResourceAccount.Hints(preferred: [], active: ids[0]), .init(directory: [], active: ids[0])] {
      #expect(throws: ResourceAccount.Refusal.unknown) { try choose(fitting: [0, 1], hints) }
      #expect(throws: ResourceAccount.Refusal.unknown) { try choose(fitting: [0], hints) }
      // What answers without them is no matter of theirs.
      #expect(throws: ResourceAccount.Refusal.noneFits) { try choose(hints) }
      #expect(try choose(rules: [rule("host", "https://git.example", 1)], hints).account == ids[1])
    }
  }

  @Test func fileThatChanged_countsOnlyWhereItWouldDecide() throws {
    var hints = ResourceAccount.Hints(active: ids[0])
    hints.isFileChanged = true
    #expect(throws: ResourceAccount.Refusal.changedFile) { try choose(fitting: [0, 1], hints) }
    #expect(throws: ResourceAccount.Refusal.changedFile) { try choose(fitting: [0], hints) }
    #expect(throws: ResourceAccount.Refusal.noneFits) { try choose(hints) }
    #expect(try choose(rules: [rule("host", "https://git.example", 1)], hints).account == ids[1])
    hints.user = "name1"
    #expect(try choose(fitting: [0, 1], hints).account == ids[1])
    (hints.user, hints.preferred) = (nil, [ids[1]])
    #expect(try choose(fitting: [0, 1], hints).account == ids[1])
  }

  @Test func rulesOfOnePattern_areToldApart() throws {
    let rules = [rule("a", "https://git.example/acme/*", 0), rule("b", "https://git.example/acme/*", 1)]
    #expect(try choose(rules: rules, .init(user: "name1")).basis == .rule("b"))
    #expect(try choose(rules: rules, .init(active: ids[0])).basis == .rule("a"))
    #expect(throws: ResourceAccount.Refusal.ambiguous([ids[0], ids[1]])) { try choose(rules: rules) }
    // An account that fits by its provider alone comes after those of a rule.
    #expect(throws: ResourceAccount.Refusal.ambiguous([ids[0], ids[1]])) {
      try choose(rules: rules, fitting: [2], .init(user: "name2"))
    }
  }

  @Test func aNamedAccount_isChosenAlsoWhenItIsSignedOut() throws {
    for hints in [
      ResourceAccount.Hints(selected: [ids[0]], active: ids[1]), .init(user: "name0", active: ids[1]),
      .init(preferred: [ids[0]], active: ids[1]), .init(directory: [ids[0]], active: ids[1]),
    ] {
      #expect(try choose(fitting: [0, 1], signedOut: [0], hints).account == ids[0])
    }
    // A name that several have means the one that is signed in.
    #expect(try choose(fitting: [0, 1], signedOut: [0], .init(user: "all")).account == ids[1])
    #expect(try choose(fitting: [0, 1], signedOut: [0], .init(preferred: ids)).account == ids[1])
    #expect(throws: ResourceAccount.Refusal.ambiguous([ids[0], ids[1]])) {
      try choose(fitting: [0, 1], signedOut: [0, 1], .init(user: "all"))
    }
  }

  @Test func withoutAName_signedInAccountsComeFirst() throws {
    #expect(try choose(fitting: [0, 1], signedOut: [0], .init(active: ids[0])).account == ids[1])
    #expect(try choose(fitting: [0, 1], signedOut: [0, 1], .init(active: ids[0])).account == ids[0])
    #expect(try choose(fitting: [0], signedOut: [0]).account == ids[0])
    #expect(throws: ResourceAccount.Refusal.ambiguous([ids[0], ids[1]])) {
      try choose(fitting: [0, 1], signedOut: [0, 1])
    }
  }

  @Test func aNamedAccount_mustFit() throws {
    let rules = [rule("acme", "https://git.example/acme/*", 1)]
    #expect(try choose(rules: rules, fitting: [0], .init(selected: [ids[0]])).account == ids[0])
    #expect(try choose(rules: rules, .init(selected: [ids[1]])).basis == .selector)
    #expect(throws: ResourceAccount.Refusal.noneFits) { try choose(rules: rules, .init(selected: [ids[2]])) }
  }

  @Test func aRuleForAnAccountThatTheCallerMayNotSee_isNone() {
    let rules = [rule("acme", "https://git.example/acme/*", 1)]
    let seen = candidates(fitting: []).filter { $0.account != ids[1] }
    #expect(throws: ResourceAccount.Refusal.noneFits) {
      try ResourceAccount.choose(for: url, rules: rules, candidates: seen, hints: .init())
    }
  }
}
