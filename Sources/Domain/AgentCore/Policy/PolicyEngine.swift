internal import AgentModel

/// Decides whether a person may use a capability now. A pure function of policy, facts and context.
///
/// - P1: deny by default. A missing policy, capability or snapshot, or a rule that can't be evaluated, denies.
/// - P2: inputs only narrow. The effective rights are the intersection of the snapshot, the policy, the token's known
///   scopes and the caller's context.
/// - P3: a decision lists every failed check in the documented order; the first gives the reason.
public enum PolicyEngine {
  /// The policy of an account's provider.
  public enum Policy: Hashable, Sendable {
    case document(PolicyDocument)
    /// The provider has no policy.
    case none
    /// The provider names a policy that is missing or can't be read.
    case unreadable(name: String)
  }

  /// Decides about one capability.
  public static func decide(
    _ capability: String, context: PolicyContext = PolicyContext(), facts: PolicyFacts, under policy: Policy
  ) -> Decision {
    switch policy {
    case .document(let document):
      var evaluation = PolicyEvaluation(
        capability, facts: facts, context: context, rule: document.capabilities[capability])
      evaluation.run()
      return evaluation.decision(policy: (document.name, document.version))
    case .none:
      var evaluation = PolicyEvaluation(capability, facts: facts, context: context, rule: nil)
      evaluation.run()
      return evaluation.decision(policy: ("", 0))
    case .unreadable(let name):
      var evaluation = PolicyEvaluation(capability, facts: facts, context: context, rule: nil)
      evaluation.run(unreadable: name)
      return evaluation.decision(policy: (name, 0))
    }
  }
}
