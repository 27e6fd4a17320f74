package import AgentPorts
package import Secrets

extension DeclaredKind {
  /// The pepper of PINs that were set under an earlier root key.
  package static let pepper = DeclaredKind(23, under: .token)
}

/// The data key of an account, and the PIN that may seal it.
extension Vault {
  /// The key that is mixed into a PIN before it is stretched: without this vault a PIN can't be guessed. The key
  /// outlives the root key that it was derived from, since data under it can't be sealed again without the person.
  package func pepper(for partition: PartitionID) throws(VaultFailure) -> SealingKey {
    if let kept = try read(partition, .pepper) {
      guard let key = SealingKey(kept) else { throw .integrity }
      return key
    }
    return try seals.keys(of: open(partition).epoch).pepper.derive("partition", partition.bytes)
  }

  /// Nil while the data key is sealed under the person's PIN.
  package func dataKey(of partition: PartitionID) throws(VaultFailure) -> SealingKey? { try open(partition).keys?.data }

  /// True if this partition has keys, but not its data key.
  package func isDataLocked(_ partition: PartitionID) throws(VaultFailure) -> Bool {
    try open(partition).keys.map { $0.data == nil } ?? false
  }
}
