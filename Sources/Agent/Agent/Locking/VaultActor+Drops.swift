internal import AgentCore
internal import AgentModel
internal import AgentPorts
internal import Secrets

/// What came while the vault was locked: durable then, attributed when it is opened.
extension VaultActor {
  /// Keeps what work that was on its way brought to a locked vault.
  func drop(_ dropped: PendingRecord) throws(AgentFailure) {
    guard let inboxWriter else { throw .locked }
    let row = inboxWriter.seal(dropped, name: entropy.bytes(16))
    do throws(StoreFailure) {
      try store.commit([.put(row)])
    } catch {
      throw AgentFailure(VaultFailure.store(error))
    }
  }

  /// The journal hears at the next unlocking that this request spent nothing. With the vault open it will hear of it
  /// from whoever knows more.
  func dropUnspent(_ intent: ExchangeIntent, of id: AccountID) throws(AgentFailure) {
    if !vaultIsOpen { try drop(.unspent(intent, of: id)) }
  }

  /// Each drop to its place, in one transaction, before anybody can ask for a token.
  ///
  /// An answer belongs to the journal's request or to none: its nonce says which, and of two with the same one the
  /// second is a copy. What belongs to no request of now came to an account that was signed out, or in again: its token
  /// is nobody's, and is revoked. A drop that does not open was not made by this agent, or is of an earlier box.
  func drainInbox() throws(AgentFailure) {
    let number = dropBoxNumber
    let drops = try onVault { (vault) throws(VaultFailure) in try vault.drops(inBox: number) }
    guard !drops.isEmpty else { return }
    var changes: [VaultChange] = []
    var seen: Set<[UInt8]> = []
    for dropped in drops.compactMap(\.dropped) {
      switch dropped {
      case .answer(let answer, let id):
        guard seen.insert(answer.intent.nonce).inserted else { continue }
        if let partition = partition(awaiting: answer.intent, of: id) {
          changes += [.put(partition, .intent, answer.intent.record), .put(partition, .staged, answer.body)]
        } else if let token = TokenResponse(body: answer.body)?.refreshToken {
          changes += putting(entry(forOvertaken: token, of: id))
        }
      case .unspent(let intent, let id):
        guard seen.insert(intent.nonce).inserted, let partition = partition(awaiting: intent, of: id) else { continue }
        changes.append(.delete(partition, .intent))
      case .overtaken(let token, let id): changes += putting(entry(forOvertaken: token, of: id))
      case .unclaimed(let token, let name, let label):
        guard let provider = providers[name] else { continue }
        changes += putting(entry(forUnclaimed: token, at: provider, of: nil, label: label))
      }
    }
    try onVault { (vault) throws(VaultFailure) in
      try vault.apply(changes, emptying: drops.map(\.name), ofBox: number)
    }
    dropBoxNumber = number + 1
  }

  /// Where the journal says that this very request was sent and not answered.
  private func partition(awaiting intent: ExchangeIntent, of id: AccountID) -> PartitionID? {
    guard !intent.nonce.isEmpty, let vault, let profile = current(id, epoch: intent.epoch),
      let plain = try? vault.read(profile.partition, .intent), ExchangeIntent(plain)?.nonce == intent.nonce
    else { return nil }
    return profile.partition
  }

  private func putting(_ entry: OutboxEntry?) -> [VaultChange] {
    entry.map { [.put(.vault, .outbox, id: $0.id, $0.record)] } ?? []
  }
}
