import Agent
import AgentCore
import AgentModel
import JSONRPC
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

  @Test func managedPolicy_standsBeforeThePersons_andGivesItBack() throws {
    let (idp, other) = (try #require(ProviderName("idp")), try #require(ProviderName("other")))
    let (own, (laid, laidText)) = (try Self.policy("default", 9).0, try Self.policy("default", 1))
    let (bundled, bundledText) = try Self.policy("default", 2)
    let cache = PolicyCache()
    let file = ManagedPolicy(laid, as: laidText, from: .file("/etc/lanyard/policies.d/default.json"))
    cache.setManaged([ManagedPolicy(bundled, as: bundledText, from: .bundle("https://example"))], of: .bundle)
    #expect(cache.policy(of: idp) == .document(bundled))
    cache.setManaged([file], of: .files)
    cache.fill(["default": own, "mine": own], named: [other: "mine"])
    #expect(cache.policy(of: idp) == .document(laid))
    #expect(cache.policy(of: other) == .document(own))
    cache.clear()
    #expect(cache.policy(of: idp) == .document(laid))
    cache.fill(["default": own], named: [:])
    cache.setManaged([], of: .files)
    #expect(cache.policy(of: idp) == .document(bundled))
    let old = ManagedPolicy(bundled, as: bundledText, from: .bundle("https://example"), decides: false)
    cache.setManaged([old], of: .bundle)
    #expect(cache.policy(of: idp) == .unreadable(name: "default"))
    #expect(cache.managed["default"]?.source == .bundle("https://example"))
    cache.setManaged([], of: .bundle)
    #expect(cache.policy(of: idp) == .document(own))
  }

  private static func policy(_ name: String, _ version: Int) throws -> (PolicyDocument, RawJSON) {
    let text = Array(
      "{\"name\":\"\(name)\",\"version\":\(version),\"capabilities\":{\"plain\":{\"kind\":\"read\"}}}".utf8)
    return (try PolicyDocument(parsing: text, expectedName: name), RawJSON(stored: text))
  }
}
