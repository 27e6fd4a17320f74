package import AgentPorts

/// Why the vault does not read or write what it is asked to.
package enum VaultFailure: Error, Sendable, Equatable {
  case locked
  /// A record of this partition failed to open, or is not what its head says.
  case integrity
  /// The data key of this partition is under the person's PIN.
  case dataLocked
  case store(StoreFailure)
}
