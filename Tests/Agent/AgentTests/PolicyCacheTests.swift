import Agent
import AgentCore
import AgentModel
import Testing

/// Which policy decides for a provider's accounts.
@Suite struct PolicyCacheTests {
  /// An earlier version took such a name, and a backup may bring one.
  @Test func missingPolicyOfAProvider_isUnreadable_andTheDefaultDoesNotStandIn() throws {
    let document = try PolicyDocument(
      parsing: Array(#"{"name":"default","version":1,"capabilities":{"plain":{"kind":"read"}}}"#.utf8),
      expectedName: "default")
    let cache = PolicyCache()
    let (named, unnamed) = (try #require(ProviderName("named")), try #require(ProviderName("unnamed")))
    cache.fill(["default": document], named: [named: "gone"])
    #expect(cache.policy(of: named) == .unreadable(name: "gone"))
    #expect(cache.policy(of: unnamed) == .document(document))
    cache.clear()
    #expect(cache.policy(of: unnamed) == .none)
  }
}
