package import AgentCore
package import AgentModel
package import AgentOAuth
package import AgentPorts

/// A change of memory after a transaction is durable: of `VaultDirectory`, and of the tables that other threads read.
package enum MemoryChange {
  case account(AccountProfile)
  case accountForgotten(AccountID)
  case active(AccountID?)
  case tokensWithdrawn(AccountID)
  case stepUpEnded(AccountID)
  /// `place`: where its record is, which opens from now on.
  case provider(Provider, place: [UInt8])
  case providerRemoved(ProviderName)
  case policy(PolicyDocument)
  /// The policy source confirmed the bundle in force, or brought another one.
  case sourceConfirmed(BundledPolicies?, at: TrustedInstant)
  case callerGrant(CallerGrant)
  case callerGrantsEnded(Set<String>)
  case rule(AccountRule)
  case ruleRemoved([UInt8])
  case keySlotRemoved(Int)
  case inboxNumber(UInt64)
  /// All operations of a partition in their order; nil once it is gone.
  case operations(PartitionID, QueuedOperations?)
  case operationTally(AccountID, OperationTally?)
}
