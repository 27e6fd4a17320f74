internal import AgentModel
internal import AgentPorts
internal import Secrets

/// The places of the records that the vault looks up by a name: keyed digests, so that records can be found by name
/// while the file does not contain the name.
package struct RecordPlaces {
  private let key: SealingKey

  init(key: SealingKey) { self.key = key }

  /// A feature's extension names the label of its own records.
  package func place(_ label: String, _ name: String) -> [UInt8] {
    Array(key.digest(label, Array(name.utf8)).prefix(16))
  }
}

extension DeclaredKind {
  /// The index key of look-ups that were made under an earlier root key.
  static let indexKey = DeclaredKind(24, under: .vault)
}

extension Vault {
  /// Under the key of the first root key: places outlive a rotation.
  package func places() throws(VaultFailure) -> RecordPlaces {
    RecordPlaces(key: try read(.vault, .indexKey).flatMap { SealingKey($0) } ?? keys.index)
  }
}
