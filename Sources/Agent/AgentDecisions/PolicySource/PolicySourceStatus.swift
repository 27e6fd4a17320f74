package import AgentCore
package import AgentModel
internal import AgentPermissions
internal import AgentPorts
internal import AgentRecords
internal import AgentStore

/// What is known of the policy source, for `agent.status` and `lanyard doctor`.
package struct PolicySourceStatus: Sendable {
  /// A fetch that confirmed nothing.
  package struct Failure: Sendable {
    package var refusal: BundleRefusal
    package var at: Timestamp
  }

  /// What the vault knows.
  package struct Kept: Sendable {
    /// The id by which rollouts choose this agent; nil before the first start with a source.
    package var agent: String?
    /// Of the bundle; nil before the first.
    package var version: Int64?
    /// By the wall clock; nil if the source never confirmed a bundle.
    package var confirmedAt: Timestamp?
    var age: Milliseconds?
    /// The names of the policies that the bundle brings, and of those that decide nothing.
    package var policies: [String]
    package var shadows: [String]
  }

  package var url: String
  package var interval: Milliseconds
  package var maxAge: Milliseconds
  /// Nil while the vault is locked.
  package var kept: Kept?
  /// By the wall clock; nil during a fetch and while the vault is locked.
  package var nextFetchAt: Timestamp?
  /// Of the last fetch; nil after one that confirmed the bundle.
  package var lastFailure: Failure?

  /// True if decisions are `policyError` for want of a confirmation.
  package var isTooOld: Bool { kept.map { $0.version == nil || $0.age.map { $0 >= maxAge } ?? true } ?? false }
}

extension PolicySourceStore {
  /// Since the last confirmation; nil if there was none.
  func age(of source: PolicySource) throws(AgentFailure) -> Milliseconds? {
    guard try kept(by: source.publicKey) != nil else { return nil }
    return try state()?.confirmed(by: source.publicKey).map { vault.time.elapsed(since: $0) }
  }

  /// Of the bundle that is kept, if it came from this URL.
  func entityTag(at source: PolicySource) throws(AgentFailure) -> String? {
    guard try kept(by: source.publicKey) != nil, let confirmation = try state()?.confirmation,
      confirmation.key == source.publicKey.text, confirmation.url == source.url.text
    else { return nil }
    return confirmation.entityTag
  }

  func summary(of source: PolicySource) throws(AgentFailure) -> PolicySourceStatus.Kept {
    let age = try age(of: source)
    let bundled = try vault.sourcedPolicies(of: source).bundled
    return PolicySourceStatus.Kept(
      agent: try state()?.agent, version: bundled?.version, confirmedAt: age.map { vault.clock.wall() + (.zero - $0) },
      age: age, policies: bundled.map { $0.policies.keys.sorted() } ?? [],
      shadows: bundled.map { $0.shadows.keys.sorted() } ?? [])
  }
}
