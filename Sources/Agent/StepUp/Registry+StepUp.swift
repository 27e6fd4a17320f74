internal import AgentCore
internal import AgentModel
internal import AgentPorts
internal import AgentProtocol
internal import Secrets

/// The PIN of an account on the disk (DESIGN, Step-up). Each call is one durable transaction; what a PIN costs to judge
/// is spent elsewhere (`StepUpDesk`), so that nobody waits here for it.
extension Registry {
  // MARK: questions

  struct StepUpStanding: Sendable {
    var account: AccountID
    var isEnrolled: Bool
    var attemptsLeft: Int
  }

  func stepUpStanding(_ selector: AccountSelector) throws(RPCError) -> StepUpStanding {
    let profile = try profile(selector)
    return standing(of: profile, try pin(of: profile))
  }

  private func standing(of profile: AccountProfile, _ record: PINRecord?) -> StepUpStanding {
    StepUpStanding(
      account: profile.id, isEnrolled: record.map { !$0.isDestroyed } ?? false,
      attemptsLeft: record?.attempts.left ?? PINAttempts.most)
  }

  /// Until when a step-up counts where the caller does not say: as long as any policy of this account would take it.
  private func longestStepUpAge(of profile: AccountProfile) -> Milliseconds {
    guard case .document(let policy) = policyShelf.policy(of: profile.provider), let age = policy.longestStepUpAge
    else {
      return .seconds(300)
    }
    return age
  }

  // MARK: trying

  /// A try that is counted, durably, and may now be judged.
  struct PINTry: Sendable {
    var account: AccountID
    var epoch: UInt64
    var lock: PINLock
    var place: PINPlace
  }

  /// Refuses without counting what would be refused anyway: before a person is asked.
  func requireTriable(_ selector: AccountSelector) throws(RPCError) -> AccountProfile {
    let profile = try signedIn(selector)
    guard let record = try pin(of: profile) else { throw .noPIN(profile.id) }
    guard !record.isDestroyed else { throw .pinDestroyed(profile.id) }
    let wait = record.attempts.waiting(at: clock.boot(), bootID: clock.bootID)
    guard wait <= .zero else { throw .stepUpThrottled(profile.id, wait, left: record.attempts.left) }
    return profile
  }

  func beginTry(_ id: AccountID) throws(RPCError) -> PINTry {
    let profile = try signedIn(.id(id))
    guard var record = try pin(of: profile) else { throw .noPIN(id) }
    switch record.attempts.begin(at: clock.boot(), bootID: clock.bootID) {
    case .spent:
      if record.lock != nil { try destroy(record, of: profile) }
      throw .pinDestroyed(id)
    case .throttled(let retryAfter):
      throw .stepUpThrottled(id, retryAfter, left: record.attempts.left)
    case .counted:
      guard let lock = record.lock else { throw .pinDestroyed(id) }
      try save(record, of: profile)
      return PINTry(account: id, epoch: profile.epoch, lock: lock, place: try place(of: profile))
    }
  }

  /// The PIN was right: its try is taken back, the data comes back if it was under it, and the step-up begins.
  func wasRight(_ attempt: PINTry, key: SealingKey, for duration: Milliseconds?) throws(RPCError) -> Timestamp {
    let profile = try unchanged(since: attempt)
    guard var record = try pin(of: profile) else { throw .noPIN(profile.id) }
    record.attempts.wasRight()
    var changes: [VaultChange] = [.put(profile.partition, .stepUp, record.sealable)]
    if try onVault(account: profile.id, { (vault) throws(VaultFailure) in try vault.isDataLocked(profile.partition) }) {
      guard let dataKey = attempt.place.dataKey(in: attempt.lock, by: key) else {
        throw RPCError(.integrity, account: profile.id)
      }
      changes.append(.unlockData(profile.partition, dataKey))
    }
    changes.append(audited(.stepUpVerify, account: profile.id, .attemptsLeft(Int64(record.attempts.left))))
    let all = changes
    try onVault(account: profile.id) { (vault) throws(VaultFailure) in try vault.apply(all) }
    return stepUps.grant(profile.id, by: .pin, for: duration ?? longestStepUpAge(of: profile))
  }

  /// The PIN was wrong, and is counted already; the last one destroys it.
  func wasWrong(_ attempt: PINTry) throws(RPCError) -> RPCError {
    let profile = try unchanged(since: attempt)
    guard let record = try pin(of: profile) else { throw .noPIN(profile.id) }
    guard record.attempts.left > 0 else {
      try destroy(record, of: profile)
      return .pinDestroyed(profile.id)
    }
    let entry = auditedFailure("wrongPIN", profile, record)
    try onVault(account: profile.id) { (vault) throws(VaultFailure) in try vault.apply([entry]) }
    return .wrongPIN(profile.id, left: record.attempts.left)
  }

  private func auditedFailure(_ reason: String, _ profile: AccountProfile, _ record: PINRecord) -> VaultChange {
    audited(
      .stepUpVerify, outcome: "stepUpFailed", account: profile.id, .reason(reason),
      .attemptsLeft(Int64(record.attempts.left)))
  }

  private func unchanged(since attempt: PINTry) throws(RPCError) -> AccountProfile {
    let profile = try signedIn(.id(attempt.account))
    guard profile.epoch == attempt.epoch else { throw .signedOut(profile.id) }
    return profile
  }

  /// The data that is under the PIN alone goes with it: there is no key to it any more.
  private func destroy(_ record: PINRecord, of profile: AccountProfile) throws(RPCError) {
    let tombstone = PINRecord(attempts: record.attempts, lock: nil)
    let entry = auditedFailure("destroyed", profile, record)
    try onVault(account: profile.id) { (vault) throws(VaultFailure) in
      var changes: [VaultChange] = [.put(profile.partition, .stepUp, tombstone.sealable), wipePending(for: nil), entry]
      if try vault.isDataLocked(profile.partition) { changes.append(.renewData(profile.partition)) }
      try vault.apply(changes)
    }
    stepUps.clear(profile.id)
    _ = try? finishErasures()
  }

  // MARK: setting and removing

  /// Where a new PIN would belong, if one may be set now.
  func placeForNewPIN(_ id: AccountID) throws(RPCError) -> PINPlace {
    let profile = try signedIn(.id(id))
    try requireChangeable(try pin(of: profile), of: profile)
    return try place(of: profile)
  }

  /// Sets it, with as many tries as a new one has.
  func enroll(
    _ id: AccountID, by key: SealingKey, _ parameters: PassphraseParameters, at place: PINPlace
  ) throws(RPCError) -> StepUpStanding {
    let profile = try signedIn(.id(id))
    let previous = try pin(of: profile)
    // Stretching took its time: what it hung on may be over.
    try requireChangeable(previous, of: profile)
    guard place.partition == profile.partition.bytes else { throw .signedOut(id) }
    let entry = audited(.stepUpEnroll, account: id, .isNew(previous == nil))
    let record = try onVault(account: id) { (vault) throws(VaultFailure) -> PINRecord in
      guard let dataKey = try vault.dataKey(of: profile.partition) else { throw .dataLocked }
      let record = PINRecord(attempts: PINAttempts(), lock: place.lock(dataKey, by: key, parameters))
      var changes: [VaultChange] = [.put(profile.partition, .stepUp, record.sealable), entry]
      if previous != nil { changes.append(wipePending(for: nil)) }
      try vault.apply(changes)
      return record
    }
    if previous != nil { _ = try? finishErasures() }
    return standing(of: profile, record)
  }

  /// A PIN that is destroyed stays so until the person has signed in again; there is nothing to remove.
  func unenroll(_ id: AccountID) throws(RPCError) -> StepUpStanding {
    let profile = try signedIn(.id(id))
    guard let record = try pin(of: profile), !record.isDestroyed else { return try stepUpStanding(.id(id)) }
    try requireChangeable(record, of: profile)
    let changes: [VaultChange] = [
      .delete(profile.partition, .stepUp), wipePending(for: nil), audited(.stepUpUnenroll, account: id),
    ]
    try onVault(account: id) { (vault) throws(VaultFailure) in try vault.apply(changes) }
    stepUps.clear(id)
    _ = try? finishErasures()
    return standing(of: profile, nil)
  }

  /// Ends the step-up of now. Ended before it is written down: a disk that fails must not keep it valid.
  func clearStepUp(_ selector: AccountSelector) throws(RPCError) -> StepUpStanding {
    let standing = try stepUpStanding(selector)
    guard stepUps.isValid(standing.account) else { return standing }
    stepUps.clear(standing.account)
    let entry = audited(.stepUpClear, account: standing.account)
    try onVault(account: standing.account) { (vault) throws(VaultFailure) in try vault.apply([entry]) }
    return standing
  }

  /// Whoever can't say the PIN of now can't put another in its place, nor take it away.
  private func requireChangeable(_ record: PINRecord?, of profile: AccountProfile) throws(RPCError) {
    guard let record else { return }
    guard !record.isDestroyed else { throw .pinDestroyed(profile.id) }
    guard stepUps.isValid(profile.id) else { throw .stepUpRequired(profile.id) }
  }

  // MARK: signing out and in

  /// With a soft sign-out: from here on the data key is under the PIN alone. Its old wrapping may still stand in the log.
  func lockingData(of profile: AccountProfile) throws(RPCError) -> [VaultChange] {
    guard let record = try pin(of: profile), !record.isDestroyed else { return [] }
    return [.lockData(profile.partition), wipePending(for: nil)]
  }

  /// With a sign-in: the person proved to be there to the provider, so a destroyed PIN may be followed by a new one.
  func forgettingDestroyedPIN(of profile: AccountProfile) -> [VaultChange] {
    guard let record = try? pin(of: profile), record.isDestroyed else { return [] }
    let isDataLost =
      (try? onVault { (vault) throws(VaultFailure) in try vault.isDataLocked(profile.partition) }) ?? false
    return [.delete(profile.partition, .stepUp)] + (isDataLost ? [.renewData(profile.partition)] : [])
  }

  // MARK: records

  private func pin(of profile: AccountProfile) throws(RPCError) -> PINRecord? {
    try onVault(account: profile.id) { (vault) throws(VaultFailure) in
      guard let plain = try vault.read(profile.partition, .stepUp) else { return nil }
      guard let record = PINRecord(plain) else { throw .integrity }
      return record
    }
  }

  private func save(_ record: PINRecord, of profile: AccountProfile) throws(RPCError) {
    try onVault(account: profile.id) { (vault) throws(VaultFailure) in
      try vault.apply([.put(profile.partition, .stepUp, record.sealable)])
    }
  }

  private func place(of profile: AccountProfile) throws(RPCError) -> PINPlace {
    PINPlace(partition: profile.partition.bytes, pepper: try unlockedVault().pepper(for: profile.partition))
  }

  private func signedIn(_ selector: AccountSelector) throws(RPCError) -> AccountProfile {
    let profile = try profile(selector)
    guard profile.standing == .signedIn else { throw .signedOut(profile.id) }
    return profile
  }
}
