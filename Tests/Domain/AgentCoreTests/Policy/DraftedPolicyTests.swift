import AgentCore
import AgentModel
import JSONRPC
import Testing

/// A person names what a program may do, and gets a policy that the agent takes.
@Suite("A drafted policy")
struct DraftedPolicyTests {
  private func draft(
    _ service: String, allow: [String], confirm: [String] = [], perHour: Int64? = nil
  ) throws -> PolicyDocument {
    let entry = try #require(CatalogueEntry.named(service))
    let drafted = try DraftedPolicy(entry, named: "p", allow: allow, confirm: confirm, perHour: perHour)
    return try PolicyDocument(parsing: drafted.document.withBytes { [UInt8]($0) }, expectedName: "p")
  }

  private func refusal(
    _ service: String, allow: [String], confirm: [String] = [], perHour: Int64? = nil
  ) throws -> DraftedPolicy.Refusal? {
    let entry = try #require(CatalogueEntry.named(service))
    do throws(DraftedPolicy.Refusal) {
      _ = try DraftedPolicy(entry, named: "p", allow: allow, confirm: confirm, perHour: perHour)
      return nil
    } catch { return error }
  }

  @Test func providerAtAnotherHost_hasItsRequestsThere() throws {
    let entry = try #require(CatalogueEntry.named("github-token"))
    let name = try #require(ProviderName("hub"))
    var provider = ProviderConfiguration(name: name, issuer: "https://hub.example", clientID: "")
    provider.kind = .secret
    provider.secret = SecretSettings()
    provider.allowedOrigins = ["https://Hub.example:443"]
    let drafted = try DraftedPolicy(entry.served(by: provider), named: "p", allow: ["user.get"])
    let policy = try PolicyDocument(parsing: drafted.document.withBytes { [UInt8]($0) }, expectedName: "p")
    let url = try #require(HTTPURL("https://hub.example/user"))
    #expect(
      try RequestNaming(of: "GET", url, isForAgent: false, under: .document(policy)) == .capabilities(["user.get"]))
    // Nothing confirms a key there: a day later it would be refused for good.
    #expect(policy.capabilities["user.get"]?.onlineWithin == .seconds(315_576_000))
    provider.allowedOrigins = ["https://hub.example", "https://api.github.com"]
    #expect(entry.served(by: provider).operations == entry.operations)
  }

  @Test func draft_followsThePolicyThatIsThere() throws {
    let entry = try #require(CatalogueEntry.named("github"))
    #expect(try DraftedPolicy(entry, named: "p", allow: ["read"]).version == 1)
    #expect(try DraftedPolicy(entry, named: "p", replacing: 7, allow: ["read"]).version == 8)
    #expect(try DraftedPolicy(entry, named: "p", replacing: 1 << 53 - 1, allow: ["read"]).version == 1 << 53 - 1)
  }

  @Test func namedOperations_areCapabilities_withTheirRequests() throws {
    let policy = try draft("github", allow: ["issues.list", "issues.comment"])
    #expect(Set(policy.capabilities.keys) == ["issues.list", "issues.comment"])
    let comment = try #require(policy.capabilities["issues.comment"])
    #expect(comment.kind == .write)
    #expect(comment.stepUp == nil && comment.budgetPerHour == nil)
    let url = try #require(HTTPURL("https://api.github.com/repos/acme/app/issues/7/comments"))
    #expect(
      try RequestNaming(of: "POST", url, isForAgent: false, under: .document(policy))
        == .capabilities(["issues.comment"]))
    #expect(try RequestNaming(of: "DELETE", url, isForAgent: false, under: .document(policy)) == .none)
    #expect(policy.capabilities["issues.list"]?.kind == .read)
  }

  @Test func kindOfOperations_isAllOfThem() throws {
    let entry = try #require(CatalogueEntry.named("github"))
    for kind in CatalogueEntry.Operation.Kind.allCases {
      let names = entry.operations.filter { $0.kind == kind }.map(\.name)
      #expect(try Set(draft("github", allow: [kind.rawValue]).capabilities.keys) == Set(names))
    }
  }

  @Test func confirmedOperation_asksThePerson_alsoWhereItIsAllowedToo() throws {
    let policy = try draft("github", allow: ["write"], confirm: ["pulls.merge", "delete"])
    for name in ["pulls.merge", "repos.delete"] {
      #expect(policy.capabilities[name]?.stepUp?.method == .pinentry)
    }
    #expect(policy.capabilities["issues.comment"]?.stepUp == nil)
  }

  @Test func usesPerHour_areTheBudgetOfEach() throws {
    let policy = try draft("github", allow: ["issues.comment"], confirm: ["issues.update"], perHour: 20)
    #expect(policy.capabilities.values.allSatisfy { $0.budgetPerHour == 20 })
    #expect(policy.capabilities.count == 2)
  }

  /// A secret without `whoami` was confirmed when it was added, and never again.
  @Test func confirmationOfAnUnconfirmedSecret_mayBeOld() throws {
    let stripe = try draft("stripe", allow: ["read"])
    let github = try draft("github", allow: ["read"])
    let (old, young) = (stripe.capabilities["balance.get"], github.capabilities["user.get"])
    #expect(try #require(old?.onlineWithin) > #require(young?.onlineWithin))
  }

  @Test(arguments: CatalogueEntry.all.filter { !$0.operations.isEmpty })
  func everyServicesDraft_isAPolicyThatTheAgentTakes(entry: CatalogueEntry) throws {
    let origin = entry.allowedOrigins[0].replacing("HOST", with: "svc.acme.example")
    let own = try #require(entry.filled(at: [origin]))
    let drafted = try DraftedPolicy(
      own, named: entry.name, allow: ["read", "write"], confirm: ["delete"], perHour: 1000)
    let policy = try PolicyDocument(parsing: drafted.document.withBytes { [UInt8]($0) }, expectedName: entry.name)
    #expect(policy.capabilities.count == entry.operations.count)
    #expect(policy.version == 1)
  }

  @Test func unknownWord_isToldByItsPlace() throws {
    #expect(try refusal("github", allow: ["read", "issues.no"]) == .unknownAllowed(1))
    #expect(try refusal("github", allow: [], confirm: ["Read"]) == .unknownConfirmed(0))
    #expect(try refusal("groq", allow: ["read"]) == .noOperations)
    #expect(try refusal("github", allow: ["read"], perHour: 0) == .budget)
    #expect(try refusal("github", allow: ["read"], perHour: 1_000_001) == .budget)
    #expect(try refusal("github", allow: []) == nil)
  }
}
