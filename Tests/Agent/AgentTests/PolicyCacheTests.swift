import AgentCore
import AgentModel
internal import AgentPermissions
internal import AgentRecords
import JSONRPC
import Synchronization
import Testing

import AgentStore

/// Which policy decides for a provider's accounts.
@Suite struct PolicyCacheTests {
  @Test func missingPolicyOfAProvider_isUnreadable_andTheDefaultDoesNotTakeItsPlace() throws {
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

  @Test func readsOfAService_areThoseOfTheProviderThatItIsNow() throws {
    let (bot, own) = (try #require(ProviderName("bot")), try #require(ProviderName("own")))
    let (read, write) = (
      try #require(HTTPURL("https://api.telegram.org/getMe")),
      try #require(HTTPURL("https://api.telegram.org/sendDice"))
    )
    let cache = PolicyCache()
    cache.fill([:], named: [:], services: [bot: "telegram-bot", own: "github"], sourced: nil)
    #expect(cache.isReading(read, at: bot) && !cache.isReading(write, at: bot))
    #expect(cache.isReading(write, at: own))
    cache.set(nil, service: "telegram-bot", of: own)
    cache.set(nil, service: nil, of: bot)
    #expect(!cache.isReading(write, at: own) && cache.isReading(write, at: bot))
  }

  @Test func managedPolicy_standsBeforeThePersons_andGivesItBack() throws {
    let (idp, other) = (try #require(ProviderName("idp")), try #require(ProviderName("other")))
    let (own, (managed, fileText)) = (try Self.policy("default", 9).0, try Self.policy("default", 1))
    let (bundled, bundledText) = try Self.policy("default", 2)
    let cache = PolicyCache()
    let file = ManagedPolicy(managed, as: fileText, from: .file("/etc/lanyard/policies.d/default.json"))
    cache.setManaged([ManagedPolicy(bundled, as: bundledText, from: .bundle("https://example"))], of: .bundle)
    // No source has confirmed the bundle.
    #expect(cache.policy(of: idp) == .unreadable(name: "default"))
    #expect(cache.managed["default"]?.source == .bundle("https://example"))
    cache.setManaged([file], of: .files)
    #expect(cache.policy(of: idp) == .document(managed))
    #expect(cache.managed["default"]?.source == file.source)
    cache.fill(["default": own, "mine": own], named: [other: "mine"])
    #expect(cache.policy(of: idp) == .document(managed))
    #expect(cache.policy(of: other) == .document(own))
    cache.clear()
    #expect(cache.policy(of: idp) == .document(managed))
    cache.fill(["default": own], named: [:])
    cache.setManaged([], of: .files)
    #expect(cache.policy(of: idp) == .document(own))
  }

  @Test func bundle_countsForAsLongAsItsSourceConfirmedIt() throws {
    let idp = try #require(ProviderName("idp"))
    let (own, _) = try Self.policy("default", 9)
    let bundle = try PolicyBundle(
      parsing: Array(
        #"{"version":1,"policies":[{"name":"default","version":2,"capabilities":{}}],"rollouts":[{"policy":{"name":"default","version":3,"capabilities":{}},"percentage":100,"key":"k","shadow":true}]}"#
          .utf8))
    let bundled = BundledPolicies(bundle) { _ in 0 }
    let age = Mutex(Milliseconds.zero)
    let cache = PolicyCache(decisions: DecisionCache()) { _ in age.withLock { $0 } }
    let moment = TrustedInstant(time: Timestamp(milliseconds: 0), lived: .zero)
    let source = SourcedPolicies(bundled: nil, confirmed: nil, maxAge: .seconds(10), url: "https://p.example/b")
    // Before the first bundle any name may be the organisation's.
    cache.fill(["default": own], named: [:], sourced: source)
    #expect(cache.policy(of: idp) == .unreadable(name: "default"))
    #expect(cache.sourceTimeLeft(for: idp) == nil)
    cache.sourceConfirmed(bundled, at: moment)
    let document = try #require(bundle.policies.first?.document)
    #expect(cache.policy(of: idp) == .document(document))
    #expect(cache.shadow(of: idp)?.version == 3)
    #expect(cache.managed["default"]?.source == .bundle("https://p.example/b"))
    age.withLock { $0 = Milliseconds(9_999) }
    #expect(cache.policy(of: idp) == .document(document))
    #expect(cache.sourceTimeLeft(for: idp) == Milliseconds(1))
    age.withLock { $0 = .seconds(10) }
    #expect(cache.policy(of: idp) == .unreadable(name: "default"))
    #expect(cache.shadow(of: idp) == nil)
    // A policy that the bundle does not have is the person's.
    cache.fill(["mine": own], named: [idp: "mine"], sourced: nil)
    #expect(cache.policy(of: idp) == .document(own))
    #expect(cache.managed.isEmpty)
  }

  private static func policy(_ name: String, _ version: Int) throws -> (PolicyDocument, RawJSON) {
    let text = Array(
      "{\"name\":\"\(name)\",\"version\":\(version),\"capabilities\":{\"plain\":{\"kind\":\"read\"}}}".utf8)
    return (try PolicyDocument(parsing: text, expectedName: name), RawJSON(stored: text))
  }
}
