internal import AgentProtocol

extension MethodInfo {
  /// Panels and scripts call the methods about the agent itself all the time, and exporters read the audit log and the
  /// figures, so these keep no vault open.
  var usesVault: Bool {
    !["access", "agent", "approval", "audit", "connectivity", "event", "metrics", "rpc"].contains(feature)
  }
}
