package import AgentCore
package import AgentModel
internal import JSONRPC
internal import SecretJSON
package import Secrets

/// An entry for the audit log.
package struct AuditAppend: Sendable {
  package var ring: AuditRing
  package var at: Timestamp
  /// The account that the entry is about, by its id; nil for the agent as a whole.
  package var account: String?
  /// Two entries are repeats of each other if these bytes are equal.
  package var sameness: [UInt8]
  /// Tells the entry from others to its client: a decision's id.
  package var name: String
  /// True if the entry is counted in an equal one among the newest of its ring.
  package var coalesces: Bool
  /// The client that causes the entry, as `AuditQuota` knows it; empty for the agent itself.
  package var clients: Set<String>
  /// True if the operation may be refused because its client has added too many entries.
  package var isRefusable: Bool
  /// The plain text of the entry that stands for so many.
  package var record: @Sendable (AuditRepeats) -> Secret

  package init(
    ring: AuditRing, at: Timestamp, account: String?, sameness: [UInt8], name: String, coalesces: Bool,
    clients: Set<String>, isRefusable: Bool, record: @escaping @Sendable (AuditRepeats) -> Secret
  ) {
    self.ring = ring
    self.at = at
    self.account = account
    self.sameness = sameness
    self.name = name
    self.coalesces = coalesces
    self.clients = clients
    self.isRefusable = isRefusable
    self.record = record
  }

  /// Equal for equal `sameness`: its bytes at once, and not one by one.
  var samenessHash: Int {
    var hasher = Hasher()
    sameness.withUnsafeBytes { hasher.combine(bytes: $0) }
    return hasher.finalize()
  }

  /// An entry for further repeats of a recorded one: its plain text, with their time and count.
  init?(ring: AuditRing, copying plain: Secret, with repeats: AuditRepeats) {
    let account = SecretJSON.read(plain) { $0.kind == .object ? .some($0["account"]?.string) : nil }
    guard let account else { return nil }
    self.init(
      ring: ring, at: repeats.firstAt, account: account, sameness: [], name: "", coalesces: false, clients: [],
      isRefusable: false
    ) { _ in
      SecretJSON.write { writer in
        writer.member("at", repeats.firstAt.milliseconds)
        if repeats.count > 1 {
          writer.member("count", repeats.count)
          writer.member("firstAt", repeats.firstAt.milliseconds)
          writer.member("lastAt", repeats.lastAt.milliseconds)
        }
        _ = SecretJSON.read(plain) { node -> Void? in
          for (key, value) in node.members {
            guard let name = key.string, !["at", "count", "firstAt", "lastAt"].contains(name) else { continue }
            writer.key(name)
            writer.raw(value.raw)
          }
          return ()
        }
      }
    }
  }
}
