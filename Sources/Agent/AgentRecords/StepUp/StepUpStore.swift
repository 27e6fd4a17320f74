internal import AgentCore
package import AgentModel
package import AgentPorts
package import AgentStore
internal import AgentVault
internal import Secrets

extension OpenVault {
  package var stepUp: StepUpStore { StepUpStore(vault: self) }
}

package struct StepUpState: Sendable {
  package var account: AccountID
  package var provider: ProviderName
  package var isEnrolled: Bool
  package var attemptsLeft: Int
}

extension AccountProfile {
  package var destroyedStepUp: StepUpFailure { .destroyed(endsBySignIn: isProvenBySignIn) }
}

/// The proofs of presence on the disk (docs/offline.md, Step-up). What a proof costs to judge is spent elsewhere
/// (`StepUpCoordinator`), so that the vault serves others meanwhile.
package struct StepUpStore {
  let vault: OpenVault

  // MARK: questions

  package func status(_ selector: AccountSelector) throws(AgentFailure) -> StepUpState {
    let profile = try vault.directory.profile(selector)
    return Self.status(of: profile, try record(of: profile))
  }

  static func status(of profile: AccountProfile, _ record: StepUpRecord?) -> StepUpState {
    StepUpState(
      account: profile.id, provider: profile.provider, isEnrolled: record.map { !$0.isDestroyed } ?? false,
      attemptsLeft: record?.attempts.left ?? StepUpAttempts.maximum)
  }

  /// True from a soft sign-out until the proof is given. If the record can't be read, the caller that reads it is told.
  package func isDataUnderPIN(_ id: AccountID) -> Bool {
    guard let profile = vault.directory.profiles[id] else { return false }
    return (try? vault.isDataLocked(of: profile)) ?? false
  }

  // MARK: setting and removing

  /// The place of a new proof, if one may be set now.
  /// Typed: in the agent's own prompt, where no other program sees it or answers.
  package func placeForNew(
    _ method: StepUpMethod, of id: AccountID, isTyped: Bool
  ) throws(AgentFailure) -> StepUpPlace {
    let profile = try vault.directory.signedIn(.id(id))
    try requireChangeable(try record(of: profile), of: profile, by: method, isTyped: isTyped)
    return try place(of: profile, by: method)
  }

  /// Sets it, with as many attempts as a new one has.
  package func enroll(
    _ id: AccountID, _ enrolment: StepUpEnrolment, at place: StepUpPlace, isTyped: Bool
  ) throws(AgentFailure) -> ChangeSet<StepUpState> {
    var profile = try vault.directory.signedIn(.id(id))
    let previous = try record(of: profile)
    // Making it took its time: what it hung on may be over.
    try requireChangeable(previous, of: profile, by: place.method, isTyped: isTyped)
    guard place.partition == profile.partition.bytes else { throw .signedOut(id) }
    let dataKey = try vault.withRecords(of: id) { (records) throws(VaultFailure) in
      try records.dataKey(of: profile.partition)
    }
    guard let dataKey else { throw .dataUnderPIN(id) }
    profile.hasStepUp = true
    let record = StepUpRecord(
      method: place.method, attempts: StepUpAttempts(), lock: place.lock(dataKey, by: enrolment))
    return ChangeSet(
      [
        .put(profile.partition, .stepUp, record.sealable), .put(profile.partition, .profile, profile.record),
        vault.audited(.stepUpEnroll, account: id, .isNew(previous == nil)),
      ] + (try vault.spentAttempts.noting(previous)),
      memory: [.account(profile)], of: id, erasing: previous == nil ? nil : .values, isWithdrawal: true,
      result: Self.status(of: profile, record)
    ).onlyIntoFreeRoom
  }

  /// A destroyed proof stays so until another one may follow; there is nothing to remove.
  package func unenroll(_ id: AccountID) throws(AgentFailure) -> ChangeSet<StepUpState> {
    var profile = try vault.directory.signedIn(.id(id))
    let record = try record(of: profile)
    guard let record, !record.isDestroyed else { return .unchanged(Self.status(of: profile, record)) }
    try requireChangeable(record, of: profile, by: record.method, isTyped: false)
    profile.hasStepUp = false
    return ChangeSet(
      [
        .delete(profile.partition, .stepUp), .put(profile.partition, .profile, profile.record),
        vault.audited(.stepUpUnenroll, account: id),
      ] + (try vault.spentAttempts.noting(record)),
      memory: [.account(profile), .stepUpEnded(id)], of: id, erasing: .values,
      result: Self.status(of: profile, nil))
  }

  /// Ends the current step-up. It ends before the audit entry is written: a disk that fails must not keep it valid.
  package func clear(_ selector: AccountSelector) throws(AgentFailure) -> ChangeSet<StepUpState> {
    let status = try status(selector)
    guard vault.tables.stepUps.hasAny(status.account) else { return .unchanged(status) }
    vault.tables.stepUps.clear(status.account)
    return ChangeSet([vault.audited(.stepUpClear, account: status.account)], of: status.account, result: status)
  }

  /// A person who can't give the current proof can't replace or remove it.
  private func requireChangeable(
    _ record: StepUpRecord?, of profile: AccountProfile, by method: StepUpMethod, isTyped: Bool
  ) throws(AgentFailure) {
    let present: StepUpEnrolmentRule.Present =
      switch record {
      case nil: .none
      case let record? where record.isDestroyed: .destroyed
      case _?: .set(isProven: vault.tables.stepUps.isValid(profile.id))
      }
    let refusal = StepUpEnrolmentRule.refusal(
      having: present, signInProves: profile.isProvenBySignIn,
      sinceSignIn: profile.signedInAt.map { vault.time.elapsed(since: $0) }, isTyped: isTyped)
    let failure: StepUpFailure? =
      switch refusal {
      case nil: nil
      case .takesRecentSignIn?: .recentSignInRequired
      case .takesPrompt?: .promptRequired
      case .takesStepUp?: .required
      case .destroyed?: profile.destroyedStepUp
      }
    if let failure { throw .stepUp(failure, profile.id, record?.method ?? method) }
  }

  // MARK: signing out and in

  /// With a soft sign-out: from here on the data key is under the proof alone. Its old wrapping may still stand in the
  /// log.
  func lockingData(of profile: AccountProfile) throws(AgentFailure) -> [VaultChange] {
    guard let record = try record(of: profile), !record.isDestroyed else { return [] }
    return [.lockData(profile.partition)]
  }

  /// With a sign-in of the person at the provider: what is destroyed may be followed by a new one.
  /// Also what is told of the operations that are lost with the data.
  func forgettingDestroyed(of profile: AccountProfile) -> (records: [VaultChange], OrphanedOperations) {
    guard let record = try? record(of: profile), record.isDestroyed else { return ([], OrphanedOperations()) }
    let noted = (try? vault.spentAttempts.noting(record)) ?? []
    let forgotten = noted + [.delete(profile.partition, .stepUp)]
    guard (try? vault.isDataLocked(of: profile)) ?? false else { return (forgotten, OrphanedOperations()) }
    let orphaned = vault.operations.orphaning(profile, into: profile.partition)
    return (forgotten + [.renewData(profile.partition)] + orphaned.records, orphaned)
  }

  // MARK: records

  package func record(of profile: AccountProfile) throws(AgentFailure) -> StepUpRecord? {
    try vault.withRecords(of: profile.id) { (records) throws(VaultFailure) in
      guard let plain = try records.read(profile.partition, .stepUp) else { return nil }
      guard let record = StepUpRecord(plain) else { throw .integrity }
      return record
    }
  }

  package func place(
    of profile: AccountProfile, by method: StepUpMethod, _ lock: StepUpLock? = nil
  ) throws(AgentFailure) -> StepUpPlace {
    StepUpPlace(
      method: method, partition: lock?.place ?? profile.partition.bytes,
      pepper: try vault.withRecords(of: profile.id) { (records) throws(VaultFailure) in
        try records.pepper(for: profile.partition)
      })
  }
}
