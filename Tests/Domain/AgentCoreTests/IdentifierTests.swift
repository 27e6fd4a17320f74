import AgentModel
import Testing

@Suite struct IdentifierTests {
  static let id = "acc_aaaaaaaaaaaaaaaaaaaaaaaaaa"

  @Test func accountID_isMadeOfSixteenBytes() throws {
    let made = try #require(AccountID(bytes: (0..<16).map { UInt8($0 * 16) }))
    #expect(made.text.utf8.count == 30 && made.text.hasPrefix("acc_") && AccountID(made.text) == made)
    #expect(AccountID(bytes: []) == nil && AccountID(bytes: [UInt8](repeating: 0, count: 15)) == nil)
    #expect(AccountID(bytes: [UInt8](repeating: 0, count: 16))?.text == Self.id)
    #expect(AccountID(bytes: [UInt8](repeating: 255, count: 16)) != AccountID(Self.id))
  }

  @Test(arguments: [
    "", "acc_", "acc", "aaaaaaaaaaaaaaaaaaaaaaaaaa", "acc_aaaaaaaaaaaaaaaaaaaaaaaaa", "acc_aaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "acc_Aaaaaaaaaaaaaaaaaaaaaaaaaa", "ACC_aaaaaaaaaaaaaaaaaaaaaaaaaa", "acc_aaaaaaaaaaaaaaaaaaaaaaaaa1",
    "acc_aaaaaaaaaaaaaaaaaaaaaaaaa8", "acc_aaaaaaaaaaaaaaaaaaaaaaaaa ", " acc_aaaaaaaaaaaaaaaaaaaaaaaaa",
    "acc_aaaaaaaaaaaaaaaaaaaaaaaaaé", "acc_aaaaaaaaaaaaaaaaaaaaaaaaa\n", "acc-aaaaaaaaaaaaaaaaaaaaaaaaaa",
  ])
  func malformedAccountID_isRefused(text: String) { #expect(AccountID(text) == nil) }

  @Test(arguments: ["a", "0", "Work", "work-2", "alice@acme.example", "a.b_c", String(repeating: "x", count: 64)])
  func wellFormedAlias_isAccepted(text: String) { #expect(Alias(text)?.text == text) }

  @Test(arguments: [
    "", "@active", "-work", ".work", "_work", "@", "wörk", "wo rk", "work\n", "work/2", "a:b", "a*",
    String(repeating: "x", count: 65), "acc_x", id, "acc_", "work\u{0}", "a\u{301}",
  ])
  func malformedAlias_isRefused(text: String) { #expect(Alias(text) == nil) }

  @Test func accountSelector_isActiveAnIDOrAnAlias() {
    #expect(AccountSelector("@active") == .active)
    #expect(AccountSelector(Self.id) == .id(AccountID(Self.id)!))
    #expect(AccountSelector("work") == .alias("work"))
    // There is no default and no wildcard: each of these is an alias.
    for text in ["", "*", "@Active", " @active", "@all", "acc_short"] { #expect(AccountSelector(text) == .alias(text)) }
  }

  @Test(arguments: ["idp", "a", "0-9", "my.provider_2", String(repeating: "x", count: 64)])
  func wellFormedProviderName_isAccepted(text: String) { #expect(ProviderName(text)?.text == text) }

  @Test(arguments: ["", "Idp", "iDp", "-a", ".a", "_a", "a b", "a@b", "a/b", "é", String(repeating: "x", count: 65)])
  func malformedProviderName_isRefused(text: String) { #expect(ProviderName(text) == nil) }

  @Test func scopeSet_isSortedWithoutDuplicates() {
    let scopes = ScopeSet(["openid", "mail", "openid"])
    #expect(scopes.names == ["mail", "openid"] && scopes.spaceDelimited == "mail openid")
    #expect(ScopeSet(spaceDelimited: " openid  mail openid ") == scopes)
    #expect(ScopeSet(spaceDelimited: "").isEmpty && ScopeSet(spaceDelimited: "").isSubset(of: scopes))
    #expect(ScopeSet(["mail"]).isSubset(of: scopes) && !ScopeSet(["files"]).isSubset(of: scopes))
    #expect(!scopes.isSubset(of: ScopeSet(["mail"])) && scopes.isSubset(of: scopes))
  }

  @Test("of what a provider names, only scope tokens within the contract's bounds are kept")
  func toldScopes() {
    #expect(ScopeSet(told: " openid  mail openid ") == ScopeSet(["mail", "openid"]))
    #expect(ScopeSet(told: "") == ScopeSet([]))
    #expect(ScopeSet(told: "repo,gist user", .spacesAndCommas) == ScopeSet(["gist", "repo", "user"]))
    #expect(ScopeSet(told: "repo,gist") == ScopeSet(["repo,gist"]))
    #expect(
      ScopeSet(told: "mail a\u{1B}[31m \u{7} tab\tbed \"q\" back\\slash caf\u{E9} urn:x/y")
        == ScopeSet(["mail", "urn:x/y"], lacksSome: true))
    let longest = String(repeating: "x", count: 256)
    #expect(ScopeSet(told: longest + " y") == ScopeSet([longest, "y"]))
    #expect(ScopeSet(told: longest + "x") == ScopeSet([], lacksSome: true))
    let many = (0..<500).map { "s\($0)" }
    #expect(ScopeSet(told: many.joined(separator: " ")).names.count == 128)
    #expect(!ScopeSet(told: many.joined(separator: " ")).isWithin(Set(many)))
    #expect(ScopeSet(told: many.prefix(128).joined(separator: " ")).isWithin(Set(many)))
  }

  @Test("scopes that were told and not kept are within no limit")
  func lackingScopes() {
    let asked = ScopeSet(["mail"])
    #expect(ScopeSet.granted(nil, orAsked: asked) == asked)
    #expect(ScopeSet.granted(ScopeSet([]), orAsked: asked) == ScopeSet([]))
    let odd = ScopeSet.granted(ScopeSet(told: "caf\u{E9}"), orAsked: asked)
    #expect(odd.names == ["mail"])
    #expect(!odd.isWithin(["mail"]) && !odd.isSubset(of: asked) && asked.isSubset(of: odd) && odd != asked)
    #expect(!ScopeSet(told: "mail caf\u{E9}").isWithin(["mail"]))
    #expect(asked.isWithin(["mail", "files"]) && !asked.isWithin(["files"]))
  }

  @Test func tokenKey_comparesResourceAndScopes() {
    #expect(TokenKey() == .standard && TokenKey(scopes: ScopeSet([])) != .standard)
    #expect(
      TokenKey(resource: "a", scopes: ScopeSet(["x", "y"])) == TokenKey(resource: "a", scopes: ScopeSet(["y", "x"])))
  }

  @Test func identifiers_compareInTextOrder() {
    #expect(Alias("a")! < Alias("b")! && ProviderName("a")! < ProviderName("b")!)
    #expect(AccountID(Self.id)! < AccountID("acc_b" + String(repeating: "a", count: 25))!)
  }
}
