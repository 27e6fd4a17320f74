internal import AgentModel

/// The names of an account, which leave the machine only with `audit.names`.
public struct AccountNames: Hashable, Sendable {
  public var alias: String?
  public var subject: String?
  public var displayName: String?
  public var email: String?
  public var tenant: String?

  public init(
    alias: String? = nil, subject: String? = nil, displayName: String? = nil, email: String? = nil,
    tenant: String? = nil
  ) {
    self.alias = alias
    self.subject = subject
    self.displayName = displayName
    self.email = email
    self.tenant = tenant
  }
}

/// Decides which values of an entry leave the machine, and in which form (docs/audit-export.md).
///
/// Without names, a value goes out as it is only if it is on the list of those that the agent or an administrator chose.
/// Every other text, also of a fact that only a later agent writes, becomes a stable id that says nothing without the key.
public struct Disclosure: Sendable {
  private let names: Bool
  private let agent: String
  private let pseudonym: @Sendable (String) -> String

  /// - Parameters:
  ///   - names: `audit.names`.
  ///   - agent: the id of this agent's log.
  ///   - pseudonym: a stable id for a name, by a key of this machine.
  public init(names: Bool, agent: String, pseudonym: @escaping @Sendable (String) -> String) {
    self.names = names
    self.agent = agent
    self.pseudonym = pseudonym
  }

  /// The record of an item. `log` counts how often the log went back.
  public func record(_ item: ExportItem, log: Int64, account: (String) -> AccountNames?) -> ExportRecord {
    switch item {
    case .entry(let entry): record(entry, log: log, account: entry.account.flatMap(account))
    case .dropped(let first, let last, let at):
      note(
        "audit.dropped", item, log: log, at: at, count: last - first + 1,
        "\(last - first + 1) entries left the log before they could be exported",
        [.init("first", .integer(first)), .init("last", .integer(last))])
    case .wentBack(let from, let after, let at):
      note(
        "audit.wentBack", item, log: log, at: at, count: nil,
        "the log no longer has what was exported up to \(from); export goes on after \(after)",
        [.init("from", .integer(from)), .init("after", .integer(after))])
    }
  }

  private func record(_ entry: ExportEntry, log: Int64, account: AccountNames?) -> ExportRecord {
    var fields = identity(entry.sequence, log: log)
    func add(_ name: String, _ text: String?) {
      if let text, !text.isEmpty { fields.append(.init(name, .text(text))) }
    }
    add("outcome", entry.outcome)
    add("account", entry.account)
    add("client", entry.client.map { names || Self.ownPrograms.contains($0) ? $0 : pseudonym($0) })
    if let count = entry.count { fields.append(.init("count", .integer(count))) }
    add("firstAt", entry.firstAt?.rfc3339)
    add("lastAt", entry.lastAt?.rfc3339)
    if names, let account {
      add("accountAlias", account.alias)
      add("accountSubject", account.subject)
      add("accountName", account.displayName)
      add("accountEmail", account.email)
      add("accountTenant", account.tenant)
    }
    let unchecked = Self.unchecked(entry)
    let facts = entry.facts.map { ExportRecord.Field($0.name, disclosed($0, unchecked)) }
    return ExportRecord(
      at: entry.at, severity: Self.severity(entry), event: entry.event, message: "\(entry.event): \(entry.outcome)",
      fields: fields, facts: facts)
  }

  private func note(
    _ event: String, _ item: ExportItem, log: Int64, at: Timestamp, count: Int64?, _ message: String,
    _ facts: [ExportRecord.Field]
  ) -> ExportRecord {
    var fields = identity(item.sequence, log: log) + [.init("outcome", .text("ok"))]
    if let count { fields.append(.init("count", .integer(count))) }
    return ExportRecord(
      at: at, severity: .warning, event: event, message: "\(event): \(message)", fields: fields, facts: facts)
  }

  private func identity(_ sequence: Int64, log: Int64) -> [ExportRecord.Field] {
    [
      .init("sequence", .integer(sequence)), .init("log", .integer(log)), .init("agent", .text(agent)),
    ]
  }

  private func disclosed(_ fact: ExportEntry.Fact, _ unchecked: Set<String>) -> ExportEntry.Value {
    guard case .text(let text) = fact.value, !names else { return fact.value }
    // The path of an issuer may name a tenant.
    if fact.name == "issuer" { return .text(HTTPURL(text)?.origin ?? pseudonym(text)) }
    let isPlain = Self.plain.contains(fact.name) && !unchecked.contains(fact.name)
    return .text(isPlain && !text.utf8.contains(UInt8(ascii: "@")) ? text : pseudonym(text))
  }

  /// The facts that a program chose and that no policy and no provider knows: a capability of no policy, and the origin
  /// of a request that was refused before the policy was asked, or that passed without a token.
  private static func unchecked(_ entry: ExportEntry) -> Set<String> {
    if ["originNotAllowed", "notPermitted", "invalidParams"].contains(entry.outcome) {
      return ["capability", "origin"]
    }
    if entry.event == "request.pass" { return ["origin"] }
    let reason = entry.facts.first { $0.name == "reason" }?.value
    return reason == .text("unknownCapability") || reason == .text("policyError") ? ["capability"] : []
  }

  /// Facts whose texts are words of the contract, ids, and names that an administrator chose.
  private static let plain: Set<String> = [
    "provider", "policy", "decisionId", "capability", "reason", "mode", "state", "previous", "protection", "grant",
    "rule", "origin", "method",
  ]

  /// The names that Lanyard's programs give themselves.
  private static let ownPrograms: Set<String> = ["lanyard", "lanyard-mcp", "lanyard-proxy", "lanyard-export"]

  private static func severity(_ entry: ExportEntry) -> ExportRecord.Severity {
    switch entry.outcome {
    case "ok", "allow", "readOnly", "allowReadOnly": entry.event == "audit.gap" ? .warning : .info
    case "deny", "stepUpRequired", "stepUp": .notice
    default: .warning
    }
  }
}
