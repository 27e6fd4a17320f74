package import AgentCore

extension EffectiveGrant {
  /// The limits under which the caller enqueues operations: the grants that it presented, and their ancestors.
  package var caller: OperationCaller { OperationCaller(grants: line) }

  /// Whether the caller may deliver this operation: it was enqueued under the caller's own grants, or under narrower
  /// ones that were made under these, or the permission covers its capability.
  package func coversClaim(of operation: Operation) -> Bool {
    permission.capabilities?.contains(operation.capability) ?? true
      || operation.caller.grants.isSuperset(of: grants)
  }
}
