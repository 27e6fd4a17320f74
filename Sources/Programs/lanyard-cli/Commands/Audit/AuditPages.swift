import CommandSupport
import JSONRPC

/// Reads the audit log page by page: the last entries, or the entries after a number.
struct AuditPages {
  /// The limit of `audit.list`.
  private static let largestPage = 1000

  let account: String?
  let after: Int?
  let limit: Int

  func read(via agent: inout AgentConnection) throws(CommandFailure) -> [AuditEntryInfo] {
    var found: [AuditEntryInfo] = []
    var position = after
    repeat {
      // `audit.list` begins with the oldest entry, so the last ones need all pages.
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
      // A `next` that does not advance ends the loop.
      position = page.next.flatMap { $0 > position ?? -1 ? $0 : nil }
    } while position != nil && (after == nil || found.count < limit)
    return found
  }

  static func json(_ entries: [AuditEntryInfo]) -> String {
    #"{"entries":["# + entries.map(\.json).joined(separator: ",") + "]}"
  }
}
