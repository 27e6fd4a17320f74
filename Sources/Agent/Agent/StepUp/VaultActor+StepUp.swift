internal import AgentCore
internal import AgentModel
internal import AgentPorts
internal import Secrets

/// How the person of an account proves to be there, on the disk (docs/offline.md, Step-up). Each call is one durable
/// transaction; what a proof costs to judge is spent elsewhere (`StepUpCoordinator`), so that nobody waits here for it.
extension VaultActor {
  // MARK: questions

  struct StepUpStatus: Sendable {
    var account: AccountID
    var isEnrolled: Bool
    var attemptsLeft: Int
  }

  func stepUpStatus(_ selector: AccountSelector) throws(AgentFailure) -> StepUpStatus {
    let profile = try profile(selector)
    return status(of: profile, try stepUp(of: profile))
  }

  private func status(of profile: AccountProfile, _ record: StepUpRecord?) -> StepUpStatus {
    StepUpStatus(
      account: profile.id, isEnrolled: record.map { !$0.isDestroyed } ?? false,
      attemptsLeft: record?.attempts.left ?? StepUpAttempts.maximum)
  }

  /// Since a soft sign-out, and until the proof is given. What can't be read is told to those who want to read it.
  func isDataUnderPIN(_ id: AccountID) -> Bool {
    guard let profile = profiles[id] else { return false }
    return (try? onVault(account: id) { (vault) throws(VaultFailure) in try vault.isDataLocked(profile.partition) })
      ?? false
  }

  /// Until when a step-up counts where the caller does not say: as long as any policy of this account would take it.
  private func longestStepUpAge(of profile: AccountProfile) -> Milliseconds {
    guard case .document(let policy) = policyCache.policy(of: profile.provider), let age = policy.longestStepUpAge
    else {
      return .seconds(300)
    }
    return age
  }

  // MARK: trying

  /// A try that is counted, durably, and may now be judged.
  struct StepUpTry: Sendable {
    var account: AccountID
    var epoch: UInt64
    var lock: StepUpLock
    var place: StepUpPlace
  }

  /// Refuses without counting what would be refused anyway: before a person is asked.
  func requireTriable(_ selector: AccountSelector, by method: StepUpMethod) throws(AgentFailure) -> AccountProfile {
    let profile = try signedIn(selector)
    let record = try enrolled(method, of: profile)
    guard !record.isDestroyed else { throw .stepUp(.destroyed, profile.id, method) }
    let wait = record.attempts.waiting(at: clock.boot(), bootID: clock.bootID)
    guard wait <= .zero else {
      throw .stepUp(.throttled(retryAfter: wait, left: record.attempts.left), profile.id, method)
    }
    return profile
  }

  func beginTry(_ id: AccountID, by method: StepUpMethod) throws(AgentFailure) -> StepUpTry {
    let profile = try signedIn(.id(id))
    var record = try enrolled(method, of: profile)
    switch record.attempts.begin(at: clock.boot(), bootID: clock.bootID) {
    case .spent:
      if record.lock != nil { try destroy(record, of: profile) }
      throw .stepUp(.destroyed, id, method)
    case .throttled(let retryAfter):
      throw .stepUp(.throttled(retryAfter: retryAfter, left: record.attempts.left), id, method)
    case .counted:
      guard let lock = record.lock else { throw .stepUp(.destroyed, id, method) }
      try save(record, of: profile)
      return StepUpTry(account: id, epoch: profile.epoch, lock: lock, place: try place(of: profile, by: method, lock))
    }
  }

  /// The proof was right: its try is taken back, the data comes back if it was under it, and the step-up begins.
  func wasRight(_ attempt: StepUpTry, key: SealingKey, for duration: Milliseconds?) throws(AgentFailure) -> Timestamp {
    let profile = try unchanged(since: attempt)
    var record = try enrolled(attempt.place.method, of: profile)
    record.attempts.wasRight()
    var changes: [VaultChange] = [.put(profile.partition, .stepUp, record.sealable)]
    if try onVault(account: profile.id, { (vault) throws(VaultFailure) in try vault.isDataLocked(profile.partition) }) {
      guard let dataKey = attempt.place.dataKey(in: attempt.lock, by: key) else {
        throw .vault(.integrity, profile.id)
      }
      changes.append(.unlockData(profile.partition, dataKey))
      changes += try onVault(account: profile.id) { (vault) throws(VaultFailure) in
        try vault.takingOver(in: profile.partition, by: dataKey)
      }
    }
    changes.append(audited(.stepUpVerify, account: profile.id, .attemptsLeft(Int64(record.attempts.left))))
    let all = changes
    try onVault(account: profile.id) { (vault) throws(VaultFailure) in try vault.apply(all) }
    return stepUps.grant(profile.id, by: record.method, for: duration ?? longestStepUpAge(of: profile))
  }

  /// The proof was wrong, and is counted already; the last one destroys it.
  func wasWrong(_ attempt: StepUpTry) throws(AgentFailure) -> AgentFailure {
    let profile = try unchanged(since: attempt)
    let record = try enrolled(attempt.place.method, of: profile)
    guard record.attempts.left > 0 else {
      try destroy(record, of: profile)
      return .stepUp(.destroyed, profile.id, record.method)
    }
    let entry = auditedFailure("wrong\(record.method.noun)", profile, record)
    try onVault(account: profile.id) { (vault) throws(VaultFailure) in try vault.apply([entry]) }
    return .stepUp(.wrong(left: record.attempts.left), profile.id, record.method)
  }

  private func auditedFailure(_ reason: String, _ profile: AccountProfile, _ record: StepUpRecord) -> VaultChange {
    audited(
      .stepUpVerify, outcome: "stepUpFailed", account: profile.id, .reason(reason),
      .attemptsLeft(Int64(record.attempts.left)))
  }

  private func unchanged(since attempt: StepUpTry) throws(AgentFailure) -> AccountProfile {
    let profile = try signedIn(.id(attempt.account))
    guard profile.epoch == attempt.epoch else { throw .signedOut(profile.id) }
    return profile
  }

  /// The data that is under the proof alone goes with it: there is no key to it any more.
  private func destroy(_ record: StepUpRecord, of profile: AccountProfile) throws(AgentFailure) {
    let tombstone = StepUpRecord(method: record.method, attempts: record.attempts, lock: nil)
    let entry = auditedFailure("destroyed", profile, record)
    var profile = profile
    profile.hasStepUp = false
    let after = profile
    try onVault(account: profile.id) { (vault) throws(VaultFailure) in
      var changes: [VaultChange] = [
        .put(after.partition, .stepUp, tombstone.sealable), .put(after.partition, .profile, after.record),
        wipePending(for: nil), entry,
      ]
      if try vault.isDataLocked(profile.partition) { changes.append(.renewData(profile.partition)) }
      try vault.apply(changes)
    }
    profiles[profile.id] = profile
    stepUps.clear(profile.id)
    _ = try? finishErasures()
  }

  // MARK: setting and removing

  /// Where a new one would belong, if one may be set now.
  func placeForNew(_ method: StepUpMethod, of id: AccountID) throws(AgentFailure) -> StepUpPlace {
    let profile = try signedIn(.id(id))
    try requireChangeable(try stepUp(of: profile), of: profile)
    return try place(of: profile, by: method)
  }

  /// Sets it, with as many tries as a new one has.
  func enroll(
    _ id: AccountID, _ enrolment: StepUpEnrolment, at place: StepUpPlace
  ) throws(AgentFailure) -> StepUpStatus {
    var profile = try signedIn(.id(id))
    let previous = try stepUp(of: profile)
    // Making it took its time: what it hung on may be over.
    try requireChangeable(previous, of: profile)
    guard place.partition == profile.partition.bytes else { throw .signedOut(id) }
    let entry = audited(.stepUpEnroll, account: id, .isNew(previous == nil))
    withdrawalCount += 1
    profile.hasStepUp = true
    let after = profile
    let record = try onVault(account: id) { (vault) throws(VaultFailure) -> StepUpRecord in
      guard let dataKey = try vault.dataKey(of: after.partition) else { throw .dataLocked }
      let record = StepUpRecord(
        method: place.method, attempts: StepUpAttempts(), lock: place.lock(dataKey, by: enrolment))
      var changes: [VaultChange] = [
        .put(after.partition, .stepUp, record.sealable), .put(after.partition, .profile, after.record), entry,
      ]
      if previous != nil { changes.append(wipePending(for: nil)) }
      try vault.apply(changes)
      return record
    }
    profiles[id] = profile
    if previous != nil { _ = try? finishErasures() }
    return status(of: profile, record)
  }

  /// One that is destroyed stays so until the person has signed in again; there is nothing to remove.
  func unenroll(_ id: AccountID) throws(AgentFailure) -> StepUpStatus {
    var profile = try signedIn(.id(id))
    guard let record = try stepUp(of: profile), !record.isDestroyed else { return try stepUpStatus(.id(id)) }
    try requireChangeable(record, of: profile)
    profile.hasStepUp = false
    let changes: [VaultChange] = [
      .delete(profile.partition, .stepUp), .put(profile.partition, .profile, profile.record), wipePending(for: nil),
      audited(.stepUpUnenroll, account: id),
    ]
    try onVault(account: id) { (vault) throws(VaultFailure) in try vault.apply(changes) }
    profiles[id] = profile
    stepUps.clear(id)
    _ = try? finishErasures()
    return status(of: profile, nil)
  }

  /// Ends the step-up of now. Ended before it is written down: a disk that fails must not keep it valid.
  func clearStepUp(_ selector: AccountSelector) throws(AgentFailure) -> StepUpStatus {
    let status = try stepUpStatus(selector)
    guard stepUps.isValid(status.account) else { return status }
    stepUps.clear(status.account)
    let entry = audited(.stepUpClear, account: status.account)
    try onVault(account: status.account) { (vault) throws(VaultFailure) in try vault.apply([entry]) }
    return status
  }

  /// Whoever can't give the proof of now can't put another in its place, nor take it away.
  private func requireChangeable(_ record: StepUpRecord?, of profile: AccountProfile) throws(AgentFailure) {
    guard let record else { return }
    guard !record.isDestroyed else { throw .stepUp(.destroyed, profile.id, record.method) }
    guard stepUps.isValid(profile.id) else { throw .stepUp(.required, profile.id, record.method) }
  }

  // MARK: signing out and in

  /// With a soft sign-out: from here on the data key is under the proof alone. Its old wrapping may still stand in the log.
  func lockingData(of profile: AccountProfile) throws(AgentFailure) -> [VaultChange] {
    guard let record = try stepUp(of: profile), !record.isDestroyed else { return [] }
    return [.lockData(profile.partition), wipePending(for: nil)]
  }

  /// With a sign-in: the person proved to be there to the provider, so what is destroyed may be followed by a new one.
  func forgettingDestroyedStepUp(of profile: AccountProfile) -> [VaultChange] {
    guard let record = try? stepUp(of: profile), record.isDestroyed else { return [] }
    let isDataLost =
      (try? onVault { (vault) throws(VaultFailure) in try vault.isDataLocked(profile.partition) }) ?? false
    return [.delete(profile.partition, .stepUp)] + (isDataLost ? [.renewData(profile.partition)] : [])
  }

  // MARK: records

  private func stepUp(of profile: AccountProfile) throws(AgentFailure) -> StepUpRecord? {
    try onVault(account: profile.id) { (vault) throws(VaultFailure) in
      guard let plain = try vault.read(profile.partition, .stepUp) else { return nil }
      guard let record = StepUpRecord(plain) else { throw .integrity }
      return record
    }
  }

  private func save(_ record: StepUpRecord, of profile: AccountProfile) throws(AgentFailure) {
    try onVault(account: profile.id) { (vault) throws(VaultFailure) in
      try vault.apply([.put(profile.partition, .stepUp, record.sealable)])
    }
  }

  /// What is set, and by this method.
  private func enrolled(_ method: StepUpMethod, of profile: AccountProfile) throws(AgentFailure) -> StepUpRecord {
    guard let record = try stepUp(of: profile), record.method == method else {
      throw .notFound(.stepUp(method), profile.id)
    }
    return record
  }

  private func place(
    of profile: AccountProfile, by method: StepUpMethod, _ lock: StepUpLock? = nil
  ) throws(AgentFailure) -> StepUpPlace {
    StepUpPlace(
      method: method, partition: lock?.place ?? profile.partition.bytes,
      pepper: try onVault(account: profile.id) { (vault) throws(VaultFailure) in
        try vault.pepper(for: profile.partition)
      })
  }

  private func signedIn(_ selector: AccountSelector) throws(AgentFailure) -> AccountProfile {
    let profile = try profile(selector)
    guard profile.signInStatus == .signedIn else { throw .signedOut(profile.id) }
    return profile
  }
}
