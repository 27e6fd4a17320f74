/// What a bundle says to one agent.
public struct BundledPolicies: Sendable {
  /// The version of the bundle.
  public var version: Int64
  /// The policies that decide, by their names.
  public private(set) var policies: [String: PolicyBundle.Policy] = [:]
  /// The policies that decide nothing, by their names: what they would decide otherwise is audited.
  public private(set) var shadows: [String: PolicyDocument] = [:]

  /// - Parameter share: the place of this agent under a rollout's key, from 0 up to, not including, 1
  ///   (`RolloutShare`).
  public init(_ bundle: PolicyBundle, share: (String) -> Double) {
    version = bundle.version
    for policy in bundle.policies { policies[policy.name] = policy }
    for rollout in bundle.rollouts where share(rollout.key) * 100 < Double(rollout.percentage) {
      if rollout.isShadow {
        shadows[rollout.policy.name] = rollout.policy.document
      } else {
        policies[rollout.policy.name] = rollout.policy
      }
    }
  }
}

/// The place of an agent among all under a key: a keyed hash of its id. An agent that is in a rollout of 10 % is in the
/// one of 50 % with the same key, and another key picks others.
public enum RolloutShare {
  /// A number from 0 up to, not including, 1, from the first six bytes of a digest.
  public static func of(_ digest: [UInt8]) -> Double {
    let bits = digest.prefix(6).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    return Double(bits) / Double(UInt64(1) << 48)
  }
}
