package import AgentCore
package import AgentModel
internal import Synchronization

/// The policies in memory, so that no decision of `PolicyDecisionPoint` waits for the store. Filled while the vault is
/// open.
package final class PolicyCache: Sendable {
  /// The policy of providers that name none, if there is one of this name.
  static let defaultName = "default"

  private struct State {
    /// Nil stands for a policy with an unreadable document.
    var documents: [String: PolicyDocument?] = [:]
    /// The name of the policy that each provider configures.
    var names: [ProviderName: String] = [:]
    /// The policies of an organisation by their origin and name. They do not depend on the vault.
    var managed: [ManagedPolicyOrigin: [String: ManagedPolicy]] = [:]

    func managed(_ name: String) -> ManagedPolicy? {
      for origin in ManagedPolicyOrigin.allCases {
        if let found = managed[origin]?[name] { return found }
      }
      return nil
    }
  }
  private let state = Mutex(State())
  private let decisions: DecisionCache

  package init(decisions: DecisionCache) { self.decisions = decisions }

  /// A cache of its own.
  package convenience init() { self.init(decisions: DecisionCache()) }

  package func fill(_ documents: [String: PolicyDocument?], named names: [ProviderName: String]) {
    change { $0 = State(documents: documents, names: names, managed: $0.managed) }
  }

  /// Drops what the vault holds; managed policies stay.
  package func clear() { change { $0 = State(managed: $0.managed) } }

  /// Replaces the managed policies of one origin; of two with one name the first counts.
  package func setManaged(_ policies: [ManagedPolicy], of origin: ManagedPolicyOrigin) {
    let named = Dictionary(policies.map { ($0.policy.name, $0) }) { first, _ in first }
    change { $0.managed[origin] = named }
  }

  /// The managed policies that decide, by name: of two origins the stronger one's.
  package var managed: [String: ManagedPolicy] {
    state.withLock { state in
      ManagedPolicyOrigin.allCases.reduce(into: [:]) { found, origin in
        found.merge(state.managed[origin] ?? [:]) { stronger, _ in stronger }
      }
    }
  }

  package func put(_ document: PolicyDocument) { change { $0.documents[document.name] = .some(document) } }

  func setName(_ name: String?, of provider: ProviderName) { change { $0.names[provider] = name } }

  private func change(_ body: (inout State) -> Void) {
    state.withLock { body(&$0) }
    decisions.withdrawAll()
  }

  /// The policy of a provider's accounts: the one that the provider names, otherwise the default policy.
  package func policy(of provider: ProviderName) -> PolicyEngine.Policy {
    state.withLock { state in
      let named = state.names[provider]
      if let managed = state.managed(named ?? Self.defaultName) {
        return managed.document.map { .document($0) } ?? .unreadable(name: managed.policy.name)
      }
      guard let found = state.documents[named ?? Self.defaultName] else {
        // A name that leads nowhere is an error in the configuration, and nothing to fall back from.
        return named.map { .unreadable(name: $0) } ?? .none
      }
      return found.map { .document($0) } ?? .unreadable(name: named ?? Self.defaultName)
    }
  }
}
