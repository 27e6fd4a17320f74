internal import AgentCore
package import AgentModel
internal import AgentOAuth
internal import AgentPermissions
package import AgentPorts
package import AgentRecords
package import AgentSessions
package import AgentStore
internal import AgentVault
package import Secrets

/// Writes and restores backups, one at a time and outside `VaultActor`: a passphrase takes a second and ten thousand
/// accounts take longer, and other callers do not wait.
package actor BackupCoordinator {
  private let vault: VaultActor
  private let accounts: AccountDirectory
  private let events: any EventPublishing
  private let files: any BackupFiles
  private let clock: any AgentClock
  private var isBusy = false

  package init(
    vault: VaultActor, accounts: AccountDirectory, events: any EventPublishing, files: any BackupFiles,
    clock: any AgentClock
  ) {
    self.vault = vault
    self.accounts = accounts
    self.events = events
    self.files = files
    self.clock = clock
  }

  // MARK: backup

  package struct Written: Sendable {
    package var accounts: Int
    package var providers: Int
    package var policies: Int
    package var skipped: [SkippedItem]
    package var bytes: Int
    package var createdAt: Timestamp
  }

  /// Writes a backup to `path`. The file gets that name when it is complete: an interrupted backup leaves nothing
  /// there.
  package func backUp(
    to path: String, by passphrase: Secret, includesRefreshTokens: Bool
  ) async throws(AgentFailure) -> Written {
    try begin()
    defer { end() }
    try onFiles { () throws(BackupFileFailure) in try files.checkTarget(path) }
    let createdAt = clock.wall()
    let moment = await vault.backupMoment
    let opens = try await vault.read { [path = files.copyPath] vault throws(AgentFailure) in
      try vault.backup.snapshot(to: path)
    }
    let writer = try write(
      BackupManifest(createdAt: createdAt), by: passphrase, includesRefreshTokens: includesRefreshTokens, opens)
    try moment.requireSame(await vault.backupMoment)
    // Before the backup gets its name: no backup without an audit entry, and none after the vault was locked.
    try await note(writer.accounts, includesRefreshTokens: includesRefreshTokens)
    let bytes: Int
    do throws(AgentFailure) {
      bytes = try onFiles { () throws(BackupFileFailure) in try files.publish(to: path) }
    } catch {
      try await note(0, includesRefreshTokens: includesRefreshTokens, failure: error)
      throw error
    }
    return Written(
      accounts: writer.accounts, providers: writer.providers, policies: writer.policies, skipped: writer.skipped,
      bytes: bytes, createdAt: createdAt)
  }

  private func note(
    _ accounts: Int, includesRefreshTokens: Bool, failure: AgentFailure? = nil
  ) async throws(AgentFailure) {
    try await vault.commit { vault throws(AgentFailure) in
      vault.backup.note(accounts, includesRefreshTokens: includesRefreshTokens, failure: failure)
    }
  }

  private func write(
    _ manifest: BackupManifest, by passphrase: Secret, includesRefreshTokens: Bool, _ opens: (any Store) -> Vault
  ) throws(AgentFailure) -> BackupWriter {
    let copy = try onStore { () throws(StoreFailure) in try files.openCopy() }
    defer { copy.close() }
    let draft = try onStore { () throws(StoreFailure) in try files.makeDraft() }
    defer { draft.close() }
    let target: Vault
    do throws(BackupFormat.Failure) {
      target = try BackupFormat.seal(draft, vault.dependencies.kinds, by: passphrase)
    } catch {
      throw .backup(error)
    }
    var writer = BackupWriter(from: opens(copy), to: target, includesRefreshTokens: includesRefreshTokens)
    do throws(VaultFailure) {
      try writer.write(manifest)
    } catch {
      if case .store(let failure) = error { throw .backup(failure) }
      throw AgentFailure(error)
    }
    // Empty the log, so that one file holds the whole backup, and check that it is readable.
    try onStore { () throws(StoreFailure) in
      guard try draft.eraseDeleted() else { throw .busy }
      guard try draft.integrityProblems().isEmpty else { throw .inputOutput }
    }
    return writer
  }

  // MARK: restore

  package struct Restored: Sendable {
    package var accounts: [AccountProfile] = []
    package var providers: [ProviderName] = []
    package var policies: [String] = []
    package var skipped: [SkippedItem] = []
    package var createdAt: Timestamp
  }

  package func restore(from path: String, by passphrase: Secret) async throws(AgentFailure) -> Restored {
    try begin()
    defer { end() }
    try await vault.requireOpen()
    let store = try onFiles { () throws(BackupFileFailure) in try files.fetch(from: path) }
    defer { store.close() }
    let reader = BackupReader(try await open(store, by: passphrase))
    // Before any change: a backup with one damaged record is refused as a whole.
    let (createdAt, providers, policies, rules, partitions) = try onBackup {
      () throws(VaultFailure) -> (
        Timestamp, [Provider], [StoredPolicy], [AccountID: [AccountRule]], [PartitionID]
      ) in
      let partitions = try reader.accounts()
      for partition in partitions { _ = try reader.account(in: partition) }
      return (
        try reader.manifest().createdAt, try reader.providers(), try reader.policies(), try reader.rules(), partitions
      )
    }
    var restored = Restored(createdAt: createdAt)
    let configuration = try await vault.commit { vault throws(AgentFailure) in
      try vault.restore.configuration(providers, policies)
    }
    restored.providers = configuration.providers.map(\.configuration.name)
    restored.policies = configuration.policies.map(\.name)
    restored.skipped = configuration.skipped
    for policy in configuration.policies {
      events.publish(.policyChanged(name: policy.name, version: policy.version))
    }
    let ofBackup = Dictionary(uniqueKeysWithValues: providers.map { ($0.configuration.name, $0) })
    for partition in partitions {
      let account = try onBackup { () throws(VaultFailure) in try reader.account(in: partition) }
      let outcome = try await vault.commit {
        [provider = ofBackup[account.profile.provider], rules = rules[account.profile.id] ?? []] vault
          throws(AgentFailure) in
        try vault.restore.account(account, of: provider, rules)
      }
      restored.skipped += outcome.skipped
      guard let profile = outcome.profile else { continue }
      restored.accounts.append(profile)
      await accounts.replaced(profile.id)
      for entry in outcome.superseded {
        events.publish(.revocationAbandoned(revocation: entry.name, issuer: entry.issuer, reason: "superseded"))
      }
      events.publish(
        .accountAdded(alias: profile.alias, provider: profile.provider, issuer: profile.identity.issuer),
        account: profile.id)
    }
    return restored
  }

  /// Opens a backup. A wrong passphrase takes as long as a wrong one of the vault.
  private func open(_ store: any Store, by passphrase: Secret) async throws(AgentFailure) -> Vault {
    if let pause = await vault.beginRestoreAttempt() {
      throw .backup(BackupFailure.passphraseNotTried(retryAfter: pause))
    }
    do throws(BackupFormat.Failure) {
      _ = try BackupFormat.slot(of: store)
      do throws(StoreFailure) {
        guard try store.integrityProblems().isEmpty else { throw StoreFailure.corrupt }
      } catch {
        throw .store(error)
      }
      let opened = try BackupFormat.open(store, vault.dependencies.kinds, by: passphrase)
      await vault.endRestoreAttempt(wasWrong: false)
      return opened
    } catch {
      guard case .wrongPassphrase = error else {
        await vault.endRestoreAttempt(wasWrong: false)
        throw .backup(error)
      }
      throw .backup(BackupFailure.wrongPassphrase(retryAfter: await vault.endRestoreAttempt(wasWrong: true)))
    }
  }

  // MARK: one at a time

  private func begin() throws(AgentFailure) {
    guard !isBusy else { throw .overloaded("backups and restores at a time") }
    isBusy = true
    files.removeAll()
  }

  private func end() {
    files.removeAll()
    isBusy = false
  }

  private func onFiles<Result>(_ body: () throws(BackupFileFailure) -> Result) throws(AgentFailure) -> Result {
    do {
      return try body()
    } catch {
      throw .backup(error)
    }
  }

  private func onStore<Result>(_ body: () throws(StoreFailure) -> Result) throws(AgentFailure) -> Result {
    do {
      return try body()
    } catch {
      throw .backup(error)
    }
  }

  private func onBackup<Result>(_ body: () throws(VaultFailure) -> Result) throws(AgentFailure) -> Result {
    do {
      return try body()
    } catch {
      if case .store(let failure) = error { throw .backup(failure) }
      throw .backup(BackupFailure.damaged)
    }
  }
}
