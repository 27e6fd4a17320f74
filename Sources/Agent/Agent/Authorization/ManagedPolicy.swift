package import AgentCore
package import JSONRPC

/// Where an organisation's provider or policy comes from (docs/administrator.md). Files come before bundles: who may write a
/// file of root's decides on this machine.
package enum ManagedSource: Hashable, Comparable, Sendable {
  /// A file of the administrator's directory, by its path.
  case file(String)
  /// A signed bundle, by the URL from which it is fetched.
  case bundle(String)

  /// The path or the URL.
  package var text: String {
    switch self {
    case .file(let path): path
    case .bundle(let url): url
    }
  }
}

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
