package import AgentCore
internal import AgentModel
internal import AgentPorts
package import AgentVault
internal import JSONRPC
internal import SecretJSON
internal import Secrets

extension DeclaredKind {
  /// The organisation's policy bundle in force (docs/policy-bundles.md).
  package static let policyBundle = DeclaredKind(52, under: .vault, [.counted, .answersForItself])
  /// The agent's id, and the last confirmation by the policy source.
  package static let policySource = DeclaredKind(53, under: .vault, .answersForItself)
}

/// The bundle in force, sealed in the vault, so that it holds over restarts and without a network.
package struct KeptBundle: Sendable {
  /// The public key that it was signed by.
  var key: String
  var edition: BundleAdmission.Edition
  var bytes: [UInt8]

  var record: Secret {
    SecretJSON.write { writer in
      writer.member("key", key)
      writer.member("version", edition.version)
      writer.member("digest", Base64URL.encode(edition.digest))
      writer.member("bundle", String(decoding: bytes, as: UTF8.self))
    }
  }

  init(key: String, edition: BundleAdmission.Edition, bytes: [UInt8]) {
    self.key = key
    self.edition = edition
    self.bytes = bytes
  }

  init?(_ plain: Secret) {
    let read = SecretJSON.read(plain) { node -> KeptBundle? in
      guard let key = node["key"]?.string, let edition = BundleAdmission.Edition(node),
        let bundle = node["bundle"]?.string
      else { return nil }
      return KeptBundle(key: key, edition: edition, bytes: Array(bundle.utf8))
    }
    guard let read else { return nil }
    self = read
  }
}

/// What the agent knows of its source beside the bundle. Written with each confirmation.
package struct PolicySourceState: Sendable {
  /// The id of this agent: random, and the same for as long as the vault. It chooses the rollouts.
  package var agent: String
  /// The last confirmation; nil before the first.
  package var confirmation: Confirmation?

  package struct Confirmation: Sendable {
    /// The public key and the URL of the source.
    package var key: String
    package var url: String
    var at: TrustedInstant
    /// The last bundle: it counts here too, so that a damaged `KeptBundle` lets no older one in.
    var edition: BundleAdmission.Edition
    /// What the server named the bundle with; nil if it did not, or by a text that no request can repeat (`EntityTag`).
    package var entityTag: String?
  }

  static let agentIDBytes = 16

  /// The moment of the last confirmation by a source of this key.
  package func confirmed(by key: MinisignKey) -> TrustedInstant? {
    confirmation.flatMap { $0.key == key.text ? $0.at : nil }
  }

  var record: Secret {
    SecretJSON.write { writer in
      writer.member("agent", agent)
      guard let confirmation else { return }
      writer.member("key", confirmation.key)
      writer.member("url", confirmation.url)
      writer.member("time", confirmation.at.time.milliseconds)
      writer.member("lived", confirmation.at.lived.count)
      writer.member("version", confirmation.edition.version)
      writer.member("digest", Base64URL.encode(confirmation.edition.digest))
      writer.member("entityTag", confirmation.entityTag)
    }
  }

  init(agent: String, confirmation: Confirmation? = nil) {
    self.agent = agent
    self.confirmation = confirmation
  }

  init?(_ plain: Secret) {
    let read = SecretJSON.read(plain) { node -> PolicySourceState? in
      guard let agent = node["agent"]?.string else { return nil }
      guard let key = node["key"]?.string, let url = node["url"]?.string, let time = node["time"]?.timestamp,
        let lived = node["lived"]?.integer, let edition = BundleAdmission.Edition(node)
      else { return PolicySourceState(agent: agent) }
      return PolicySourceState(
        agent: agent,
        confirmation: Confirmation(
          key: key, url: url, at: TrustedInstant(time: time, lived: Milliseconds(lived)), edition: edition,
          entityTag: node["entityTag"]?.string))
    }
    guard let read else { return nil }
    self = read
  }
}

extension BundleAdmission.Edition {
  fileprivate init?(_ node: JSONNode) {
    guard let version = node["version"]?.integer, let digest = node["digest"]?.string.flatMap({ Base64URL.decode($0) })
    else { return nil }
    self.init(version: version, digest: digest)
  }
}
