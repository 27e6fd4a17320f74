internal import AgentCore
internal import AgentModel
internal import AgentOAuth
internal import AgentPorts
package import AgentStore
internal import AgentVault
internal import Secrets

/// Moves the records that arrived while the vault was locked to their accounts, when it is opened.
package struct InboxDrain {
  let vault: OpenVault

  init(_ vault: OpenVault) { self.vault = vault }

  /// Moves each record to its place, in one transaction.
  ///
  /// An answer belongs to the journal's request with the same nonce, or to none; of two answers with the same nonce the
  /// second is a copy. An answer without a current request came to an account that was signed out, or in again: its
  /// token is revoked. A record that does not open was written by another program, or belongs to an earlier inbox.
  func drain() throws(AgentFailure) -> ChangeSet<Void> {
    let number = vault.inboxNumber
    let found = try vault.withRecords { (records) throws(VaultFailure) in try records.inbox.records(in: number) }
    guard !found.isEmpty else { return .unchanged }
    var changes: [VaultChange] = []
    var seen: Set<[UInt8]> = []
    for record in found.compactMap({ $0.plain.flatMap { PendingRecord($0) } }) {
      if let intent = record.intent, !seen.insert(intent.nonce).inserted { continue }
      changes += place(record)
    }
    return ChangeSet(
      changes + [LockedInbox.beginning(after: number)], writes: found.map { LockedInbox.emptying($0.name) },
      memory: [.inboxNumber(number + 1)], result: ())
  }

  /// Drains the inbox at each opening, so that no caller gets an older token than the inbox holds.
  package struct Watcher: VaultWatcher {

    package init() {}

    package func opened(_ vault: OpenVault, for actor: isolated VaultActor) throws(AgentFailure) {
      try actor.commit(InboxDrain(vault).drain(), to: vault)
    }
  }

  private func place(_ record: PendingRecord) -> [VaultChange] {
    switch record {
    case .answer(let answer, let origin):
      if let partition = partition(awaiting: answer.intent, of: origin.account) {
        return [.put(partition, .intent, answer.intent.record), .put(partition, .staged, answer.body)]
      }
      return revoking(
        TokenResponse(body: answer.body)?.refreshToken.flatMap {
          vault.outbox.entry(forOvertaken: OvertakenToken(refreshToken: $0), of: origin)
        })
    case .unspent(let intent, let id):
      return partition(awaiting: intent, of: id).map { [.delete($0, .intent)] } ?? []
    case .overtaken(let token, let origin): return revoking(vault.outbox.entry(forOvertaken: token, of: origin))
    case .unclaimed(let token, let name, let kept, let label):
      guard let provider = kept ?? vault.providerTable.all[name] else { return [] }
      return revoking(vault.outbox.entry(forUnclaimed: token, at: provider, of: nil, label: label))
    }
  }

  /// The partition whose journal holds this request as sent and unanswered.
  private func partition(awaiting intent: ExchangeIntent, of id: AccountID) -> PartitionID? {
    guard !intent.nonce.isEmpty, let profile = vault.directory.current(id, epoch: intent.epoch),
      let plain = try? vault.records.read(profile.partition, .intent), ExchangeIntent(plain)?.nonce == intent.nonce
    else { return nil }
    return profile.partition
  }

  private func revoking(_ entry: OutboxEntry?) -> [VaultChange] { entry.map { [vault.outbox.putting($0)] } ?? [] }
}
