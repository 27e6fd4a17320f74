internal import AgentPermissions
internal import AgentProtocol

extension ServedMethods {
  /// The methods that patterns of grants are matched with.
  static let grantable = MethodTable.all.filter { $0.underGrant != .never }.map {
    GrantableMethod(name: $0.name, mustBeNamed: $0.underGrant == .agent)
  }
}
