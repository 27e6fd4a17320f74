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
  }
  private let state = Mutex(State())
  private let decisions: DecisionCache

  package init(decisions: DecisionCache) { self.decisions = decisions }

  /// A cache of its own.
  package convenience init() { self.init(decisions: DecisionCache()) }

  package func fill(_ documents: [String: PolicyDocument?], named names: [ProviderName: String]) {
    change { $0 = State(documents: documents, names: names) }
  }

  package func clear() { change { $0 = State() } }

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
      guard let found = state.documents[named ?? Self.defaultName] else {
        // A name that leads nowhere is an error in the configuration, and nothing to fall back from.
        return named.map { .unreadable(name: $0) } ?? .none
      }
      return found.map { .document($0) } ?? .unreadable(name: named ?? Self.defaultName)
    }
  }
}
