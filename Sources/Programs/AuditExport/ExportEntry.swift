public import AgentModel
public import JSONRPC

/// An entry of the audit log as `audit.list` gives it.
public struct ExportEntry: Hashable, Sendable {
  /// A fact's value.
  public enum Value: Hashable, Sendable {
    case text(String)
    case integer(Int64)
    case flag(Bool)
  }

  /// A fact of the entry, in the order of the log.
  public struct Fact: Hashable, Sendable {
    public var name: String
    public var value: Value

    public init(_ name: String, _ value: Value) {
      self.name = name
      self.value = value
    }
  }

  public var sequence: Int64
  public var at: Timestamp
  public var event: String
  /// `ok`, the name of an error, or the effect of a decision.
  public var outcome: String
  /// The account's id.
  public var account: String?
  /// The client's own name for itself.
  public var client: String?
  /// How often it happened, if more than once.
  public var count: Int64?
  public var firstAt: Timestamp?
  public var lastAt: Timestamp?
  public var facts: [Fact] = []

  public init(sequence: Int64, at: Timestamp, event: String, outcome: String) {
    self.sequence = sequence
    self.at = at
    self.event = event
    self.outcome = outcome
  }

  /// Nil if the node is no entry.
  public init?(_ node: JSONNode) {
    guard let sequence = node["sequence"]?.integer, sequence > 0,
      let at = node["at"]?.string.flatMap({ Timestamp(ofAgent: $0) }), let event = node["event"]?.string,
      let outcome = node["outcome"]?.string
    else { return nil }
    self.init(sequence: sequence, at: at, event: event, outcome: outcome)
    account = node["account"]?.string
    client = node["client"]?.string
    count = node["count"]?.integer
    firstAt = node["firstAt"]?.string.flatMap { Timestamp(ofAgent: $0) }
    lastAt = node["lastAt"]?.string.flatMap { Timestamp(ofAgent: $0) }
    guard let facts = node["facts"], facts.kind == .object else { return }
    for (key, value) in facts.members { self.facts.append(Fact(key.string ?? "", Value(value))) }
  }

  /// What tells this entry from another one with its sequence, in a log that went another way: FNV-1a of 64 bits. Only of
  /// members that no later version of the agent writes in another form.
  public var digest: UInt64 {
    let text = "\(sequence)\n\(at.milliseconds)\n\(event)\n\(outcome)\n\(account ?? "")"
    return text.utf8.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
  }
}

extension ExportEntry.Value {
  /// A value that is neither text, whole number nor truth value is taken as its JSON.
  init(_ node: JSONNode) {
    if let text = node.string {
      self = .text(text)
    } else if let integer = node.integer {
      self = .integer(integer)
    } else if let flag = node.bool {
      self = .flag(flag)
    } else {
      self = .text(String(decoding: node.raw, as: UTF8.self))
    }
  }

  /// For formats that have text only.
  public var text: String {
    switch self {
    case .text(let text): text
    case .integer(let integer): String(integer)
    case .flag(let flag): flag ? "true" : "false"
    }
  }
}

extension Timestamp {
  /// Parses an instant in the one form that the agent writes: `2030-01-01T00:00:00.000Z`. Nil for any other text.
  public init?(ofAgent text: String) {
    let bytes = Array(text.utf8)
    guard bytes.count == 24 else { return nil }
    func number(_ range: Range<Int>) -> Int64 {
      bytes[range].reduce(0) { $0 * 10 + Int64($1 &- UInt8(ascii: "0")) }
    }
    self.init(
      year: number(0..<4), month: number(5..<7), day: number(8..<10), hour: number(11..<13), minute: number(14..<16),
      second: number(17..<19))
    milliseconds += number(20..<23)
    guard rfc3339 == text else { return nil }
  }
}
