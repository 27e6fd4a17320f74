package import AgentCore
package import AgentStore
package import JSONRPC

/// A policy that an organisation sets. While it is there it stands before a policy of the person with its name, which
/// stays in the vault; the person can neither set nor replace it.
package struct ManagedPolicy: Sendable {
  /// The document as written.
  package var policy: StoredPolicy
  /// Nil where the document must not decide, as in a bundle that is too old: every decision is `policyError`.
  package var document: PolicyDocument?
  package var source: ManagedSource

  package init(_ document: PolicyDocument, as written: RawJSON, from source: ManagedSource, decides: Bool = true) {
    policy = StoredPolicy(document, as: written)
    policy.source = source
    self.document = decides ? document : nil
    self.source = source
  }
}

/// The sources of managed policies, the stronger one first. Each replaces its own policies only.
package enum ManagedPolicyOrigin: CaseIterable, Hashable, Sendable { case files, bundle }
