public import AgentModel

/// What the agent was started with beside its options, and what the machine gives it.
public struct StartConfiguration: Sendable {
  /// The configuration file; nil if there is none.
  public var path: String?
  /// The directory of the store; nil for an agent that has none.
  public var stateDirectory: String?
  /// Looks again: what is wrong now with the file, or with a file that it or the environment names, in sentences for a
  /// person. Empty if nothing is.
  public var problems: @Sendable () -> [String]
  /// True if the kernel has kept every secret out of swap since the start.
  public var isMemoryLocked: @Sendable () -> Bool
  /// Memory of the agent's process that is in RAM; nil where that is not known.
  public var residentBytes: @Sendable () -> Int64?
  /// What restricts the agent's process; nil for an agent that has no process of its own.
  public var confinement: Confinement?
  /// The URL of a Client ID Metadata Document, which is the agent's client id at providers that take one.
  public var clientIDMetadataDocument: String?
  /// For programs that export the audit log.
  public var audit: AuditSettings
  /// The configuration file that demands that every sign-out erases; nil if none does.
  public var hardSignOutDemandedBy: String?

  /// The administrator's files; nil if the agent does not read them.
  public var administratorFiles: (any AdministratorFiles)?
  /// The administrator's configuration file.
  public var administrator = AdministratorSettings()
  /// Looks again: what is wrong now with the administrator's configuration file, in sentences for a person.
  public var administratorProblems: @Sendable () -> [String] = { [] }

  public init(
    path: String? = nil, problems: @escaping @Sendable () -> [String] = { [] },
    isMemoryLocked: @escaping @Sendable () -> Bool = { true },
    residentBytes: @escaping @Sendable () -> Int64? = { nil }, confinement: Confinement? = nil,
    clientIDMetadataDocument: String? = nil, audit: AuditSettings = AuditSettings()
  ) {
    self.path = path
    self.problems = problems
    self.isMemoryLocked = isMemoryLocked
    self.residentBytes = residentBytes
    self.confinement = confinement
    self.clientIDMetadataDocument = clientIDMetadataDocument
    self.audit = audit
  }
}

/// The administrator's part of the configuration (docs/administrator.md).
public struct AdministratorSettings: Hashable, Sendable {
  /// The path of the file that counts; nil if there is none.
  public var file: String?
  /// The members that neither the person's file nor an option changes.
  public var enforced: [String] = []
  /// The members of `enforced` that the person's file or an option gives another value, which does not count.
  public var overruled: [String] = []

  public init() {}
}

/// What restricts the agent's process since its start (docs/callers.md, Confinement).
public enum Confinement: String, CaseIterable, Hashable, Sendable {
  /// Files and system calls.
  case landlock
  /// System calls only.
  case seccomp
  case none
}
