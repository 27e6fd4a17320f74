package import AgentModel
internal import AgentPorts
internal import Secrets

/// The places of the records that the vault looks up by a name: keyed digests, so that records can be found by name
/// while the file does not contain the name.
package struct RecordPlaces {
  private let key: SealingKey

  init(key: SealingKey) { self.key = key }

  package func provider(_ name: ProviderName) -> [UInt8] { place("provider", name.text) }

  package func policy(_ name: String) -> [UInt8] { place("policy", name) }

  /// Of the uses of a capability, in any account.
  package func budget(_ capability: String) -> [UInt8] { place("budget", capability) }

  /// Of a value that a client program keeps, in any account.
  package func programSecret(_ name: String) -> [UInt8] { place("client secret", name) }

  /// A digest by which an erased person is recognised and can't be read: without the vault's key a subject can't be
  /// guessed from it. It outlives the root key, like all places.
  package func digest(of identity: Identity, at provider: ProviderName) -> [UInt8] {
    let parts = [provider.text, identity.issuer, identity.tenant ?? "", identity.subject]
    // Each with its length, so that no two identities read the same.
    return place("erased identity", parts.map { "\($0.utf8.count):\($0)" }.joined())
  }

  /// A digest by which a secret is recognised where its provider names no person. `print`: its SHA-256, since no copy of
  /// the secret may stay in memory.
  package func secret(_ print: [UInt8], at provider: ProviderName) -> [UInt8] {
    place("secret", provider.text + "\n" + Base64URL.encode(print))
  }

  /// Of the spent attempts at a PIN, by its commitment, which no other PIN has.
  package func spentAttempts(at commitment: [UInt8]) -> [UInt8] { place("spent tries", Base64URL.encode(commitment)) }

  private func place(_ label: String, _ name: String) -> [UInt8] {
    Array(key.digest(label, Array(name.utf8)).prefix(16))
  }
}

extension Vault {
  /// Under the key of the first root key: places outlive a rotation.
  package func places() throws(VaultFailure) -> RecordPlaces {
    RecordPlaces(key: try read(.vault, .indexKey).flatMap { SealingKey($0) } ?? keys.index)
  }
}
