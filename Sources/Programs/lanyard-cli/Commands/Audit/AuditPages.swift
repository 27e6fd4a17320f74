import CommandSupport
import JSONRPC

/// Reads the audit log page by page: the last entries of all, or those that follow a number.
struct AuditPages {
  /// Of `audit.list`.
  private static let largestPage = 1000

  let account: String?
  let after: Int?
  let limit: Int

  func read(over agent: inout AgentConnection) throws(CommandFailure) -> [AuditEntryInfo] {
    var found: [AuditEntryInfo] = []
    var position = after
    repeat {
      // The log is told from its beginning: the last ones are known when its end is.
      let most = after == nil ? Self.largestPage : min(Self.largestPage, limit - found.count)
      let page = try agent.call(
        "audit.list",
        params: { writer in
          writer.member("account", account)
          writer.member("after", position)
          writer.member("limit", most)
        },
        result: { result in
          (
            entries: result["entries"]?.elements.map { AuditEntryInfo($0) } ?? [],
            next: result["next"]?.integer.map { Int($0) }
          )
        })
      found += page.entries
      if after == nil, found.count > limit { found.removeFirst(found.count - limit) }
      // A page that leads nowhere is the last one.
      position = page.next.flatMap { $0 > position ?? -1 ? $0 : nil }
    } while position != nil && (after == nil || found.count < limit)
    return found
  }

  static func json(_ entries: [AuditEntryInfo]) -> String {
    #"{"entries":["# + entries.map(\.json).joined(separator: ",") + "]}"
  }
}
