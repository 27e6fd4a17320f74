package import AgentCore
internal import Secrets

extension MinisignSignature {
  /// The refusal of this signature as one of `content`; nil if it is good.
  package func refusal(of content: [UInt8], by key: MinisignKey) -> BundleRefusal? {
    refusal(
      of: content, by: key, verifies: { Ed25519.verifies($0, of: $1, by: key.bytes) },
      digest: { BLAKE2b.digest($0, count: 64) })
  }
}

extension BundleAdmission.Edition {
  init(_ bundle: PolicyBundle, _ bytes: [UInt8]) {
    self.init(version: bundle.version, digest: BLAKE2b.digest(bytes, count: 32))
  }
}

extension BundledPolicies {
  /// What the bundle says to the agent of this id.
  init(_ bundle: PolicyBundle, for agent: String) {
    self.init(bundle) { key in
      RolloutShare.of(BLAKE2b.digest(Array(agent.utf8), key: Array(key.utf8), count: 16))
    }
  }
}
