internal import Agent
internal import AgentProtocol

extension MethodInfo {
  /// Panels and scripts call the methods about the agent itself all the time, and an exporter reads the audit log, so
  /// these keep no vault open.
  var usesVault: Bool { !["agent", "audit", "connectivity", "event", "rpc"].contains(feature) }
}
