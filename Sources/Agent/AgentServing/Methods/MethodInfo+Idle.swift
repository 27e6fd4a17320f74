internal import Agent
internal import AgentProtocol

extension MethodInfo {
  /// Panels and scripts call the methods about the agent itself all the time, so these keep no vault open.
  var usesVault: Bool { !["agent", "connectivity", "event", "rpc"].contains(feature) }
}
