internal import AgentModel

/// The newest entries of the audit log, newest first.
struct AuditLogPage: Sendable {
  let entries: [AuditEntry]

  /// Takes the answers to the questions whose names begin with `audit`, of which two may have an entry in common.
  init(_ answers: AgentAnswers) {
    var seen: Set<Int64> = []
    entries = (0..<AuditWindow.most).flatMap { answers["audit-\($0)"]?["entries"]?.elements ?? [] }
      .compactMap { AuditEntry($0) }.filter { seen.insert($0.sequence).inserted }
      .sorted { $0.sequence > $1.sequence }
  }
}

extension AuditLogPage {
  /// When a program last sent a request under a grant, by the grant's id.
  var lastRequests: [String: Timestamp] {
    var moments: [String: Timestamp] = [:]
    for entry in entries where entry.isRequest {
      guard let grant = entry.fact("grant") else { continue }
      moments[grant] = max(moments[grant] ?? entry.lastAt, entry.lastAt)
    }
    return moments
  }
}

/// The calls of `audit.list` for the newest entries.
enum AuditWindow {
  /// The limit of one call.
  static let perCall: Int64 = 1000
  /// Calls for one page: 4,000 entries are more than a person reads, and take some milliseconds.
  static let most = 4

  /// The newest entries before `sequence`, or the newest of all.
  static func question(_ number: Int, before sequence: Int64?) -> AgentQuestion {
    AgentQuestion(
      "audit-\(number)", "audit.list", ["before": .integer(sequence ?? (1 << 53 - 1)), "limit": .integer(perCall)])
  }

  /// Those before the first call's, if that was full.
  static func further(_ answers: AgentAnswers) -> [AgentQuestion] {
    guard let entries = answers["audit-0"]?["entries"]?.elements, entries.count >= Int(perCall),
      let oldest = entries.first.flatMap({ AuditEntry($0) })
    else { return [] }
    return (1..<most).compactMap { number in
      let before = oldest.sequence - Int64(number - 1) * perCall
      return before > 1 ? question(number, before: before) : nil
    }
  }
}
