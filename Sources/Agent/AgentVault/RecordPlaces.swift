internal import AgentModel
internal import AgentPorts
internal import JSONRPC
internal import SecretJSON
package import Secrets

/// The places of the records that the vault looks up by a name: keyed digests, so that records can be found by name
/// while the file does not contain the name.
package struct RecordPlaces {
  private let key: SealingKey

  init(key: SealingKey) { self.key = key }

  /// The id of a record of this kind with this name, in any partition.
  package func id(of kind: DeclaredKind, _ name: String) -> [UInt8] { place("\(kind.label)", name) }

  /// The id of a record that a backup took over. Its content has the name, if records of its kind have one.
  package func id(of kind: DeclaredKind, copying plain: Secret) throws(VaultFailure) -> [UInt8] {
    guard kind.traits.contains(.copied) else { throw .integrity }
    if kind.label.utf8CodeUnitCount == 0 { return [] }
    guard let name = SecretJSON.read(plain, { $0["name"]?.string }) else { throw .integrity }
    return id(of: kind, name)
  }

  /// Of what has no record of its own.
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
