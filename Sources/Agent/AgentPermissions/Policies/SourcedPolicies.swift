package import AgentCore
package import AgentModel
package import AgentStore

/// The policies of the organisation's source as `PolicyCache` has them (docs/policy-bundles.md).
package struct SourcedPolicies: Sendable {
  /// Nil before the first bundle, and for a kept one that does not open: any policy may be the organisation's.
  package var bundled: BundledPolicies?
  /// When the source last confirmed the bundle; nil if it never did.
  var confirmed: TrustedInstant?
  let maxAge: Milliseconds
  /// The URL of the bundle.
  let url: String

  package init(bundled: BundledPolicies? = nil, confirmed: TrustedInstant? = nil, maxAge: Milliseconds, url: String) {
    self.bundled = bundled
    self.confirmed = confirmed
    self.maxAge = maxAge
    self.url = url
  }

  /// The policies that the bundle brings to this agent, by name.
  var managed: [String: ManagedPolicy]? {
    bundled?.policies.mapValues { ManagedPolicy($0.document, as: $0.written, from: .bundle(url)) }
  }
}

extension OpenVault {
  /// What the store says of the source's policies.
  package func sourcedPolicies(of source: PolicySource) throws(AgentFailure) -> SourcedPolicies {
    let kept = try policySource.kept(by: source.publicKey)
    let agent = try policySource.state()?.agent
    var found = SourcedPolicies(
      bundled: nil, confirmed: try policySource.state()?.confirmed(by: source.publicKey), maxAge: source.maxAge,
      url: source.url.text)
    if let kept, let agent, let bundle = try? PolicyBundle(parsing: kept.bytes) {
      found.bundled = BundledPolicies(bundle, for: agent)
    }
    return found
  }
}
