internal import Agent
internal import AgentProtocol

extension MethodInfo {
  /// What tells of the agent alone is asked by panels and scripts all the time, and keeps no vault open.
  var usesVault: Bool { !["agent", "connectivity", "event", "rpc"].contains(feature) }
}
