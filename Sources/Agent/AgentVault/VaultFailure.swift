package import AgentPorts

/// Why the vault does not read or write what it is asked to.
package enum VaultFailure: Error, Sendable, Equatable {
  case locked
  /// A record of this partition can't be decrypted, or does not match its header.
  case integrity
  /// The data key of this partition is under the person's PIN.
  case dataLocked
  case store(StoreFailure)
}
