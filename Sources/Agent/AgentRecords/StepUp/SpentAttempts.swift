internal import AgentCore
internal import AgentModel
internal import AgentPorts
package import AgentStore
package import AgentVault
internal import Secrets

extension DeclaredKind {
  /// The spent attempts at a PIN (`SpentAttempts`), named by its commitment, which no other PIN has.
  package static let spentAttempts = DeclaredKind(
    56, under: .vault, [.counted, .answersForItself], named: "spent tries")
}

extension OpenVault {
  package var spentAttempts: SpentAttempts { SpentAttempts(vault: self) }
}

/// Notes of the spent attempts at each PIN, beside the accounts. A note outlives `account.forget` and a new PIN: a
/// backup may still bring back the PIN, with the attempts that it had left then.
package struct SpentAttempts {
  let vault: OpenVault

  /// Bounds the vault's own records. Beyond it the note with the fewest attempts makes room: filling the vault with
  /// notes of more takes longer than trying PINs.
  private static let most = 1024

  /// With each change of the attempts at a PIN, and before its record goes. A PIN whose attempts are all left needs no
  /// note. Only an attempt that was right lowers the count of a note, by itself.
  package func noting(_ record: StepUpRecord?, wasRight: Bool = false) throws(AgentFailure) -> [VaultChange] {
    guard var record, let lock = record.lock else { return [] }
    return try vault.withRecords { (records) throws(VaultFailure) in
      let place = try records.places().id(of: .spentAttempts, Base64URL.encode(lock.commitment))
      var isKnown = true
      do throws(VaultFailure) {
        let plain = try records.read(.vault, .spentAttempts, id: place)
        isKnown = plain != nil
        if let noted = plain.flatMap({ StepUpRecord($0) })?.attempts {
          if noted == record.attempts { return [] }
          record.attempts = record.attempts.noted(over: noted, wasRight: wasRight)
        }
      } catch .integrity {
        // A damaged note is replaced: it must not end all attempts.
      }
      guard record.attempts.spent > 0 else { return isKnown ? [.delete(.vault, .spentAttempts, id: place)] : [] }
      var changes: [VaultChange] = [.put(.vault, .spentAttempts, id: place, record.tombstone.sealable)]
      if !isKnown, let other = try noteInTheWay(in: records) {
        changes.append(.delete(.vault, .spentAttempts, id: other))
      }
      return changes
    }
  }

  /// Before an account is erased, which a damaged record does not prevent.
  func noting(of profile: AccountProfile) throws(AgentFailure) -> [VaultChange] {
    try noting(try? vault.stepUp.record(of: profile))
  }

  /// A backup's record of a PIN, with the attempts that were spent on that PIN since; without its lock if it was
  /// destroyed.
  package func including(_ record: StepUpRecord) throws(AgentFailure) -> StepUpRecord {
    guard let lock = record.lock else { return record }
    return try vault.withRecords { (records) throws(VaultFailure) in
      let place = try records.places().id(of: .spentAttempts, Base64URL.encode(lock.commitment))
      guard let plain = try records.read(.vault, .spentAttempts, id: place) else { return record }
      guard let noted = StepUpRecord(plain) else { throw .integrity }
      var known = record
      known.attempts = record.attempts.after(noted.attempts)
      return known.isDestroyed ? known.tombstone : known
    }
  }

  private func noteInTheWay(in records: Vault) throws(VaultFailure) -> [UInt8]? {
    let notes = try records.readEach(.spentAttempts)
    guard notes.count >= Self.most else { return nil }
    return notes.min { spent($0.plain) < spent($1.plain) }?.id
  }

  /// A damaged note goes last: a backup of its PIN is not restored.
  private func spent(_ plain: Secret?) -> Int {
    plain.flatMap { StepUpRecord($0) }?.attempts.spent ?? StepUpAttempts.maximum
  }
}
