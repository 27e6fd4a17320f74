internal import AgentCore
package import AgentModel
internal import AgentPorts
package import AgentRecords
package import AgentStore
internal import AgentVault
internal import Secrets

extension OpenVault {
  package var stepUpAttempts: StepUpAttemptStore { StepUpAttemptStore(vault: self) }
}

/// An attempt that is counted, durably, and may now be judged.
struct CountedAttempt: Sendable {
  var account: AccountID
  var epoch: UInt64
  var lock: StepUpLock
  var place: StepUpPlace
}

/// The attempts at a proof on the disk: each is counted before it is judged.
package struct StepUpAttemptStore {
  let vault: OpenVault

  /// Refuses without counting what would be refused anyway: before a person is asked.
  package func requireAttemptable(_ selector: AccountSelector, by method: StepUpMethod) throws(AgentFailure)
    -> AccountProfile
  {
    let profile = try vault.directory.signedIn(selector)
    let record = try enrolled(method, of: profile)
    guard !record.isDestroyed else { throw .stepUp(profile.destroyedStepUp, profile.id, method) }
    let wait = record.attempts.waiting(at: vault.clock.boot(), bootID: vault.clock.bootID)
    guard wait <= .zero else {
      throw .stepUp(.throttled(retryAfter: wait, left: record.attempts.left), profile.id, method)
    }
    return profile
  }

  /// The result of counting an attempt, once it is durable.
  typealias Counted = Result<CountedAttempt, AgentFailure>

  /// Counts an attempt. The failure that it may end in is durable too: the last proof is destroyed.
  func begin(_ id: AccountID, by method: StepUpMethod) throws(AgentFailure) -> ChangeSet<Counted> {
    let profile = try vault.directory.signedIn(.id(id))
    var record = try enrolled(method, of: profile)
    switch record.attempts.begin(at: vault.clock.boot(), bootID: vault.clock.bootID) {
    case .spent:
      guard record.lock != nil else { throw .stepUp(profile.destroyedStepUp, id, method) }
      return try destroying(record, of: profile) { .failure(.stepUp(profile.destroyedStepUp, id, method)) }
    case .throttled(let retryAfter):
      throw .stepUp(.throttled(retryAfter: retryAfter, left: record.attempts.left), id, method)
    case .counted:
      guard let lock = record.lock else { throw .stepUp(profile.destroyedStepUp, id, method) }
      let attempt = CountedAttempt(
        account: id, epoch: profile.epoch, lock: lock, place: try vault.stepUp.place(of: profile, by: method, lock))
      return ChangeSet(
        [.put(profile.partition, .stepUp, record.sealable)] + (try vault.spentAttempts.noting(record)), of: id,
        result: Counted.success(attempt)
      ).onlyIntoFreeRoom
    }
  }

  /// The proof was right: its attempt is taken back, the data comes back if it was under it, and the step-up begins.
  /// Returns until when it counts.
  func wasRight(
    _ attempt: CountedAttempt, key: SealingKey, for duration: Milliseconds?, inPrompt: Bool
  ) throws(AgentFailure) -> ChangeSet<Timestamp> {
    let profile = try unchanged(since: attempt)
    var record = try enrolled(attempt.place.method, of: profile)
    record.attempts.wasRight()
    var changes: [VaultChange] = [.put(profile.partition, .stepUp, record.sealable)]
    changes += try vault.spentAttempts.noting(record, wasRight: true)
    if try vault.isDataLocked(of: profile) {
      guard let dataKey = attempt.place.dataKey(in: attempt.lock, by: key) else {
        throw .vault(.integrity, profile.id)
      }
      changes.append(.unlockData(profile.partition, dataKey))
      changes += vault.operationTraces.deleting(profile.id)
      changes += try vault.withRecords(of: profile.id) { (records) throws(VaultFailure) in
        try KeptRecords(of: profile.partition, in: records).takingOver(by: dataKey)
      }
    }
    changes.append(
      vault.audited(.stepUpVerify, account: profile.id, .attemptsLeft(Int64(record.attempts.left))))
    let duration = duration ?? longestAge(of: profile)
    let (stepUps, time) = (vault.tables.stepUps, vault.time)
    return ChangeSet(changes, of: profile.id) { _ in
      time.moment(stepUps.grant(profile.id, by: record.method, for: duration, inPrompt: inPrompt), of: profile.provider)
    }
  }

  /// The proof was wrong, and is counted already; the last one destroys it. Returns what the caller is told.
  func wasWrong(_ attempt: CountedAttempt) throws(AgentFailure) -> ChangeSet<AgentFailure> {
    let profile = try unchanged(since: attempt)
    let record = try enrolled(attempt.place.method, of: profile)
    guard record.attempts.left > 0 else {
      return try destroying(record, of: profile) { .stepUp(profile.destroyedStepUp, profile.id, record.method) }
    }
    return ChangeSet(
      [failed("wrong\(record.method.noun)", profile, record)], of: profile.id,
      result: .stepUp(.wrong(left: record.attempts.left), profile.id, record.method))
  }

  /// The data that is under the proof alone goes with it: there is no key to it any more.
  private func destroying<Result>(
    _ record: StepUpRecord, of account: AccountProfile, result: () -> Result
  ) throws(AgentFailure) -> ChangeSet<Result> {
    var profile = account
    profile.hasStepUp = false
    let isDataLocked = try vault.isDataLocked(of: profile)
    let orphaned = isDataLocked ? vault.operations.orphaning(profile, into: profile.partition) : OrphanedOperations()
    let noted = try vault.spentAttempts.noting(record)
    let (result, events) = (result(), vault.events)
    return ChangeSet(
      noted + [
        .put(profile.partition, .stepUp, record.tombstone.sealable), .put(profile.partition, .profile, profile.record),
        failed("destroyed", profile, record),
      ] + (isDataLocked ? [.renewData(profile.partition)] : []) + orphaned.records,
      memory: [.account(profile), .stepUpEnded(profile.id)] + orphaned.memory, of: profile.id, erasing: .values
    ) { _ in
      orphaned.tell(events, of: profile.id)
      return result
    }
  }

  private func failed(_ reason: String, _ profile: AccountProfile, _ record: StepUpRecord) -> VaultChange {
    vault.audited(
      .stepUpVerify, outcome: "stepUpFailed", account: profile.id, .reason(reason),
      .attemptsLeft(Int64(record.attempts.left)))
  }

  /// The account, if it was neither signed out nor in since the attempt began.
  private func unchanged(since attempt: CountedAttempt) throws(AgentFailure) -> AccountProfile {
    let profile = try vault.directory.signedIn(.id(attempt.account))
    guard profile.epoch == attempt.epoch else { throw .signedOut(profile.id) }
    return profile
  }

  /// The record of a proof that is set, and by this method.
  private func enrolled(_ method: StepUpMethod, of profile: AccountProfile) throws(AgentFailure) -> StepUpRecord {
    guard let record = try vault.stepUp.record(of: profile), record.method == method else {
      throw .notFound(.stepUp(method), profile.id)
    }
    return record
  }

  /// Until when a step-up counts where the caller does not say: as long as any policy of this account would take it.
  private func longestAge(of profile: AccountProfile) -> Milliseconds {
    guard case .document(let policy) = vault.tables.policyCache.policy(of: profile.provider),
      let age = policy.longestStepUpAge
    else { return .seconds(300) }
    return age
  }
}
