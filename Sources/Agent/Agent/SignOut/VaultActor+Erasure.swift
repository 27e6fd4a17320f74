internal import AgentModel
internal import AgentPorts
internal import JSONRPC
internal import Secrets

/// What was erased is gone from the tables at once, and from the log when that could be emptied: a reader that is in the
/// middle of it prevents that (docs/sign-out.md, Modes). What is outstanding is durable with the erasure.
extension VaultActor {
  /// For the transaction that erases: whose traces must still be wiped.
  func wipePending(for id: AccountID?) -> VaultChange {
    .put(.vault, .erasure, id: entropy.bytes(16), RecordCoding.write { $0.member("account", id?.text) })
  }

  /// Empties the log, if nobody prevents it. The accounts whose last trace is gone with it.
  func finishErasures() throws(AgentFailure) -> [AccountID] {
    try onVault { (vault) throws(VaultFailure) -> [AccountID] in
      let pending = try vault.readAll(.vault, .erasure)
      guard !pending.isEmpty, try vault.truncateLog() else { return [] }
      try vault.apply(pending.map { .delete(.vault, .erasure, id: $0.id) })
      return pending.compactMap { entry in
        RecordCoding.read(entry.plain) { $0["account"]?.string.flatMap { AccountID($0) } }
      }
    }
  }

  func hasErasures() throws(AgentFailure) -> Bool {
    try onVault { (vault) throws(VaultFailure) in try !vault.readAll(.vault, .erasure).isEmpty }
  }
}
