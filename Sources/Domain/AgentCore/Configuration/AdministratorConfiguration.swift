internal import AgentModel

/// The administrator's configuration file (docs/administrator.md): the members of the person's file, and
/// under `enforced` the same members once more.
public struct AdministratorConfiguration: Hashable, Sendable {
  /// Count where neither an option nor the person's file says anything.
  public var defaults: AgentConfiguration
  /// Come before everything.
  public var enforced: AgentConfiguration

  public init(defaults: AgentConfiguration = .init(), enforced: AgentConfiguration = .init()) {
    self.defaults = defaults
    self.enforced = enforced
  }
}

extension AgentConfiguration {
  /// What counts, of the administrator's file, the command line and the person's file.
  public static func inForce(
    _ administrator: AdministratorConfiguration, options: AgentConfiguration, file: AgentConfiguration
  ) -> AgentConfiguration {
    administrator.enforced.completed(from: options).completed(from: file).completed(from: administrator.defaults)
  }

  /// The members of this configuration, and those of `other` that this one does not name.
  public func completed(from other: AgentConfiguration) -> AgentConfiguration {
    var whole = self
    for member in other.members where member.value(whole) == nil { member.copy(other, &whole) }
    return whole
  }

  /// The members that this configuration names, as its file writes them, in the order of their names.
  public var memberNames: [String] { members.map(\.name) }

  /// The members that this configuration names with another value than `other` does.
  public func members(differingFrom other: AgentConfiguration) -> [String] {
    members.filter { member in member.value(other).map { $0 != member.value(self) } ?? false }.map(\.name)
  }

  /// Those that this configuration names. Most are empty, and the list of all members is a thirtieth of a start.
  private var members: [ConfigurationMember] {
    self == AgentConfiguration() ? [] : ConfigurationMember.all.filter { $0.value(self) != nil }
  }
}

/// A member of the configuration that one file can take over from another.
private struct ConfigurationMember: Sendable {
  let name: String
  let value: @Sendable (AgentConfiguration) -> AnyHashable?
  let copy: @Sendable (_ from: AgentConfiguration, _ to: inout AgentConfiguration) -> Void

  private init<Value: Hashable & Sendable>(
    _ name: String, _ path: any WritableKeyPath<AgentConfiguration, Value?> & Sendable
  ) {
    self.name = name
    value = { $0[keyPath: path].map { AnyHashable($0) } }
    copy = { $1[keyPath: path] = $0[keyPath: path] }
  }

  /// In the order of their names.
  static let all = [
    ConfigurationMember("audit.export", \.audit.destinations),
    ConfigurationMember("audit.names", \.audit.names),
    ConfigurationMember("caFile", \.caFile),
    ConfigurationMember("clientIdMetadataDocument", \.clientIDMetadataDocument),
    ConfigurationMember("limits.connections", \.connections),
    ConfigurationMember("limits.requestsInFlight", \.requestsInFlight),
    ConfigurationMember("lockAfterSeconds", \.lockAfter),
    ConfigurationMember("lockOn", \.lockOn),
    ConfigurationMember("policySource", \.policySource),
    ConfigurationMember("proxy", \.proxy),
    ConfigurationMember("signOut", \.signOut),
  ]
}
