public import AgentModel

/// The agent's configuration file (`Schemas/agent.schema.json`; docs/manual.md, The configuration file). Nil where the
/// file says nothing.
public struct AgentConfiguration: Hashable, Sendable {
  public enum LockEvent: String, Hashable, Sendable, CaseIterable { case sleep, screen }

  public enum SignOutRule: String, Hashable, Sendable, CaseIterable {
    /// In the mode that its caller asks for.
    case asked
    /// Every sign-out erases.
    case hard
  }

  /// A PEM file with the certificate authorities that count, instead of the system's.
  public var caFile: String?
  /// `ProxyAddress`
  public var proxy: String?
  /// The URL of a Client ID Metadata Document (`ClientIDMetadataDocument`).
  public var clientIDMetadataDocument: String?
  public var lockAfter: Milliseconds?
  public var lockOn: Set<LockEvent>?
  public var connections: Int?
  /// For each connection.
  public var requestsInFlight: Int?
  public var audit = AuditSettings()
  public var policySource: PolicySource?
  public var signOut: SignOutRule?

  /// A larger file is no configuration of this agent.
  public static let maximumBytes = 64 << 10

  public init() {}
}

/// A problem of the configuration file and its place, for the person who wrote it. Line and column count from 1, the
/// column in characters.
public struct ConfigurationProblem: Hashable, Sendable {
  public var line: Int
  public var column: Int
  public var text: String

  public init(line: Int, column: Int, text: String) {
    self.line = line
    self.column = column
    self.text = text
  }
}

/// Every problem of a configuration file, in the order of the file.
public struct ConfigurationProblems: Error, Hashable, Sendable {
  public var list: [ConfigurationProblem]
}
