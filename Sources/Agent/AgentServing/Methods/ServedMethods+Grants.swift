internal import Agent
internal import AgentProtocol

extension ServedMethods {
  /// What patterns of grants are held against.
  static let grantable = MethodTable.all.map { GrantableMethod(name: $0.name, mustBeNamed: $0.underGrant == .agent) }
}
