public import AgentModel

/// One entry in the form that leaves the machine. Each format writes the same fields in its own syntax.
public struct ExportRecord: Hashable, Sendable {
  /// The severities of syslog (RFC 5424 §6.2.1) that entries have.
  public enum Severity: Int, Hashable, Sendable { case warning = 4, notice = 5, info = 6 }

  /// A named value. Names are in the agent's spelling: `policyVersion`.
  public struct Field: Hashable, Sendable {
    public var name: String
    public var value: ExportEntry.Value

    public init(_ name: String, _ value: ExportEntry.Value) {
      self.name = name
      self.value = value
    }
  }

  public var at: Timestamp
  public var severity: Severity
  public var event: String
  /// For people: event and outcome.
  public var message: String
  /// Sequence, log, agent, outcome, account and so on.
  public var fields: [Field]
  /// The facts of the entry.
  public var facts: [Field]

  public init(
    at: Timestamp, severity: Severity, event: String, message: String, fields: [Field], facts: [Field] = []
  ) {
    self.at = at
    self.severity = severity
    self.event = event
    self.message = message
    self.fields = fields
    self.facts = facts
  }

  /// A note in place of this record, which the collector refuses with `status`: only what Lanyard itself chose.
  public func refused(status: Int) -> ExportRecord {
    let identity = fields.filter { ["sequence", "log", "agent"].contains($0.name) }
    return ExportRecord(
      at: at, severity: .warning, event: "audit.refused", message: "audit.refused: the collector refuses \(event)",
      fields: identity + [Field("outcome", .text("ok"))],
      facts: [Field("event", .text(event)), Field("status", .integer(Int64(status)))])
  }

  /// `policyVersion` as `policy_version`: the spelling of OpenTelemetry's attributes and, in capitals, of journal fields.
  /// Another character than a letter or digit of ASCII becomes `_`.
  static func snakeCase(_ name: String) -> String {
    var text = ""
    for scalar in name.unicodeScalars {
      let isUpper = (0x41...0x5A).contains(scalar.value)
      let isPlain = (0x61...0x7A).contains(scalar.value) || (0x30...0x39).contains(scalar.value)
      if isUpper, !text.isEmpty, text.last != "_" { text.append("_") }
      text.unicodeScalars.append(isUpper ? Unicode.Scalar(scalar.value + 32)! : isPlain ? scalar : "_")
    }
    return text
  }
}
