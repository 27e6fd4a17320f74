internal import AgentCore
internal import AgentModel
internal import AgentOAuth
internal import AgentPermissions
internal import AgentPorts
internal import AgentRecords
internal import AgentStore
internal import AgentVault

extension OpenVault {
  var diagnosis: VaultDiagnosis { VaultDiagnosis(vault: self) }
}

/// Diagnoses the open vault. Each call checks one part, so that other callers hardly wait.
struct VaultDiagnosis {
  let vault: OpenVault

  /// The vault as a whole, locked or not.
  static func findings(of owner: isolated VaultActor) -> Findings {
    do throws(AgentFailure) {
      var findings = findings(of: try owner.status(), owner.vault)
      if !owner.missedEntries.isEmpty {
        findings.problem(
          "auditLog",
          "The disk was full when the vault was unlocked or locked: the audit log does not have these entries yet.",
          "Make room on the disk. The agent writes them with its next entry; they are lost if it ends first.")
      }
      do throws(StoreFailure) {
        try owner.store.checkInPlace()
      } catch {
        findings.add(AgentFailure(VaultFailure.store(error)), "storeFiles")
      }
      return findings
    } catch {
      var findings = Findings()
      findings.add(error, "vault")
      return findings
    }
  }

  /// Runs the database's integrity check.
  static func integrityProblems(of owner: isolated VaultActor) throws(StoreFailure) -> [String] {
    try owner.store.integrityProblems()
  }

  /// The vault as a whole; nil while it is locked.
  static func findings(of status: VaultStatus, _ vault: OpenVault?) -> Findings {
    var findings = Findings()
    findings.describe(status.protection)
    guard status.isInitialized else {
      findings.notice("vault", "There is no vault yet.", "`lanyard unlock` creates it.")
      return findings
    }
    guard let vault else {
      findings.notice(
        "vault", "The vault is locked, so the checks that need its keys were skipped.",
        "`lanyard unlock`, then `lanyard doctor` again.")
      return findings
    }
    findings.sound("vault", "The vault is open.")
    vault.diagnosis.anchor(&findings)
    vault.diagnosis.configuration(&findings)
    vault.diagnosis.unreadableAccounts(&findings)
    return findings
  }

  private func anchor(_ findings: inout Findings) {
    if vault.records.rollbackGuard.isOvertaken {
      findings.problem(
        "anchor",
        "The store was copied, and the other copy was used. The refresh tokens here may be used up, so this agent sends none of them, not even to revoke them.",
        "End this agent and go on with the other copy.",
        "If there is none any more: `lanyard-agent --accept-old-store` once, which signs every account in it out.")
    } else if vault.records.rollbackGuard.isBehind {
      findings.problem(
        "anchor",
        "The rollback anchor can't be written. After a restart of the machine at the latest, the agent would not notice an old copy of the store.",
        "Make room and make sure that ~/.config/lanyard is yours, with mode 0700.")
    } else if vault.records.rollbackGuard.isThere {
      findings.sound("anchor", "An old copy of the store would be noticed.")
    }
  }

  private func configuration(_ findings: inout Findings) {
    if !vault.providerTable.damaged.isEmpty {
      let count = vault.providerTable.damaged.count
      findings.problem(
        "providers",
        "\(count == 1 ? "The configuration of a provider" : "The configurations of \(count) providers") can't be decrypted. Accounts there can't be used.",
        "`lanyard provider add` adds it again under its name; `lanyard restore` takes it from a backup.")
    }
    if !vault.ruleTable.damaged.isEmpty {
      let names = vault.rules.damaged.joined(separator: ", ")
      findings.problem(
        "rules",
        "Rules can't be decrypted: \(names). Until they are removed no tool gets a token by the URL that it asks for.",
        "`lanyard rule remove RULE` removes one.")
    }
    guard let policies = try? vault.records.readEach(.policy) else { return }
    let damaged = policies.count { _, plain in plain.flatMap { StoredPolicy($0) } == nil }
    if damaged > 0 {
      findings.problem(
        "policies",
        "\(damaged == 1 ? "A policy" : "\(damaged) policies") can't be decrypted. The agent denies every decision under \(damaged == 1 ? "it" : "them").",
        "`lanyard policy set` sets it again; `lanyard restore` takes it from a backup.")
    }
  }

  private func unreadableAccounts(_ findings: inout Findings) {
    if vault.directory.activeIsDamaged {
      findings.problem(
        "activeAccount", "The record of the active account can't be decrypted. No account was changed.",
        "`lanyard switch` chooses an active account.")
    }
    guard !vault.directory.damagedPartitions.isEmpty else { return }
    let count = vault.directory.damagedPartitions.count
    findings.problem(
      "accountRecords",
      "\(count == 1 ? "An account" : "\(count) accounts") can't be read: the record of its person can't be decrypted.",
      "Sign in again as the missing person: `lanyard login` makes a new account. Data that programs kept with the old one is lost, unless a backup has it (`lanyard restore`)."
    )
  }

  /// Checks one account: its records, and whether its provider needs the person.
  func account(_ id: AccountID) -> Findings {
    var findings = Findings()
    guard let profile = vault.directory.profiles[id] else { return findings }
    do throws(AgentFailure) {
      try vault.withRecords(of: id) { (records) throws(VaultFailure) in try records.check(profile.partition) }
    } catch {
      guard error.kind == .integrity else {
        findings.add(error, "accountRecords")
        return findings
      }
      findings.problem(
        "accountRecords",
        "A sealed record of this account is damaged: it can't be decrypted, or was changed. Other accounts are not affected.",
        subject: profile.name, account: id,
        "Sign in again: `lanyard login --account \(profile.name)`. Data that programs kept with it is lost, unless a backup has it.",
        "Or remove it: `lanyard logout \(profile.name)`, then `lanyard forget \(profile.name)`; `lanyard restore` brings it back from a backup."
      )
      return findings
    }
    switch vault.tables.tokenCache.session(of: profile).state {
    case .reauthenticationRequired:
      findings.problem(
        "session", AgentFailure.token(.reauthenticate(reason: reasonToSignIn(profile)), id).message,
        subject: profile.name, account: id,
        profile.kind == .secret
          ? "`lanyard rotate \(profile.name)` gives it another secret."
          : "`lanyard login --account \(profile.name)` signs in again.")
    case .interactionRequired:
      findings.notice(
        "session", of: profile, "The provider demands an interaction with the person.",
        "`lanyard login --account \(profile.name)`")
    case .locked:
      findings.problem(
        "session", "The provider says that this account is disabled. The agent gives nothing of it out.",
        subject: profile.name, account: id, "Ask the administrator of the provider.",
        "Once it is enabled again: `lanyard login --account \(profile.name)`, or wait 15 minutes.")
    default: break
    }
    if profile.signInStatus == .signedIn, let dropped = (try? vault.journal.load(profile))?.grant.droppedIDToken {
      findings.notice(
        "idToken", of: profile,
        "The provider's last refresh brought an ID token that is not given out: \(dropped.meaning). The session goes on, with its access tokens.",
        "Only programs that use ID tokens notice it. `lanyard login --account \(profile.name)` gets a new one.",
        "If it goes on, ask the administrator of the provider.")
    }
    if profile.tokenBinding == .downgraded {
      findings.notice(
        "tokenBinding", of: profile,
        "Its tokens were bound to a key of this machine. The provider's last answer brought a bearer token, which works without that key.",
        "Ask the administrator of the provider whether DPoP was turned off.",
        "`lanyard provider update \(profile.provider.text) --dpop required` refuses bearer tokens from then on.")
    }
    return findings
  }

  /// Why the person has to sign in again: what the provider said, or else a refresh in doubt.
  private func reasonToSignIn(_ profile: AccountProfile) -> String {
    if case .reauthenticate(let reason) = profile.health { return reason }
    let grant = try? vault.journal.load(profile)?.grant
    return grant.map { $0.refreshToken == nil } == true ? TokenMachine.noRefreshToken : TokenMachine.outcomeUnknown
  }

  /// Checks the outstanding work, and the time.
  func work() -> Findings {
    var findings = Findings()
    clock(&findings)
    OperationDiagnosis(vault: vault).findings(&findings)
    do throws(AgentFailure) {
      try revocations(&findings)
      imports(&findings)
      if try vault.erasures.arePending() {
        findings.notice(
          "erasures", "Erased data may still be in the database's files.",
          "Nothing to do: the agent overwrites it when no other program reads the database.")
      }
    } catch {
      findings.add(error, "revocations")
    }
    return findings
  }

  private func clock(_ findings: inout Findings) {
    let readings = vault.providerTable.all.keys.sorted().map { ($0, vault.time.reading(for: $0)) }
    if let (name, time) = readings.first(where: { $0.1.clock == .suspect }) {
      return findings.problem(
        "clock",
        "This machine's clock is \(time.behind.spelledOut) behind the time of the provider \(name.text) that was known before. Policies deny what depends on the time, and no offline window gets longer.",
        subject: name.text,
        "Set the clock. Or connect to the network: the next decision has the provider tell the time, and from then on its time counts."
      )
    }
    if let (name, time) = readings.first(where: {
      // What a provider told before this boot may have been put right since.
      $0.1.serverTimeOffset != nil && $0.1.behind > Self.notableDifference
    }) {
      return findings.notice(
        "clock",
        "This machine's clock is \(time.behind.spelledOut) behind the provider \(name.text). The agent counts by the provider's time; other programs do not.",
        "Set the clock of this machine, or ask the administrator of the provider if that one is wrong.")
    }
    if let (name, ahead) = readings.lazy.compactMap({ name, time in time.ahead.map { (name, $0) } }).first(where: {
      $0.1 > Self.notableDifference
    }) {
      return findings.notice(
        "clock",
        "This machine's clock is \(ahead.spelledOut) ahead of the provider \(name.text). The agent counts by the provider's time; other programs do not.",
        "Set the clock of this machine, or ask the administrator of the provider if that one is wrong.")
    }
    findings.sound("clock", "The clock has not gone back.")
  }

  /// Honest clocks differ by less.
  private static let notableDifference = Milliseconds.seconds(120)

  private func revocations(_ findings: inout Findings) throws(AgentFailure) {
    let waiting = try vault.outbox.entries()
    let old = waiting.filter { vault.clock.wall() - $0.createdAt > Self.oldRevocation }
    if let oldest = old.min(by: { $0.createdAt < $1.createdAt }) {
      findings.problem(
        "revocations",
        "\(old.count == 1 ? "A token" : "\(old.count) tokens") of signed-out accounts could not be revoked for more than a day: the provider may still take \(old.count == 1 ? "it" : "them").",
        subject: oldest.accountLabel, "`lanyard revocations` says why; `lanyard revocations send` tries again now.")
    } else if !waiting.isEmpty {
      findings.notice(
        "revocations",
        "\(waiting.count == 1 ? "A token waits" : "\(waiting.count) tokens wait") to be revoked at the provider.",
        "Nothing to do: the agent tries again by itself. `lanyard revocations` shows when.")
    }
  }

  private func imports(_ findings: inout Findings) {
    let (waiting, damaged) = (vault.imports.answered, vault.imports.damaged)
    if let oldest = waiting.first {
      findings.notice(
        "imports",
        waiting.count == 1
          ? "An import was interrupted after the provider \(oldest.provider.text) had answered. It goes on when that can be reached."
          : "\(waiting.count) imports were interrupted after their providers had answered. They go on when these can be reached.",
        "Nothing to do: the agent tries again by itself. Where no account comes of it within a day, the token is revoked."
      )
    }
    if damaged > 0 {
      findings.problem(
        "imports",
        "\(damaged == 1 ? "The record of an import" : "The records of \(damaged) imports") that was interrupted can't be decrypted: its account may be missing.",
        "`lanyard login` signs in.")
    }
  }

  /// A revocation older than this was refused, or its provider is out of reach in every way.
  private static let oldRevocation = Milliseconds.seconds(24 * 60 * 60)
}

extension ProviderTime {
  /// How far the wall clock is ahead of the provider; nil if the provider has not told its time in this boot.
  fileprivate var ahead: Milliseconds? { serverTimeOffset.map { .zero - $0 } }
}

extension Milliseconds {
  /// For a sentence: in the largest unit of which it has two.
  fileprivate var spelledOut: String {
    for (seconds, unit) in [(86_400, "days"), (3600, "hours"), (60, "minutes")] as [(Int64, String)]
    where 2 * wholeSeconds >= 3 * seconds { return "\((wholeSeconds + seconds / 2) / seconds) \(unit)" }
    return "\(wholeSeconds) s"
  }
}

extension Findings {
  /// Adds a check that could not be made, with its error.
  mutating func add(_ error: AgentFailure, _ check: String) {
    switch error {
    case .rolledBack:
      problem(
        "vault",
        "The store is an old copy. Its refresh tokens may be used up, so the agent used and sent nothing of it.",
        "Put the newest copy of the state directory back.",
        "If there is none: `lanyard-agent --accept-old-store` once. It signs every account in it out, and destroys its refresh tokens without sending any; sign in again then."
      )
    case .anotherStore:
      problem(
        "vault",
        "The store is not the one that belongs here: another vault's was put in its place, or its vault is gone. The agent used and sent nothing of it.",
        "Put the newest copy of the state directory back.",
        "If there is none: move `lanyard.sqlite` and `lanyard.sqlite-wal` away, then `lanyard-agent --new-store` once. It begins an empty store; sign in again then, or `lanyard restore` a backup.",
        "If you put another vault's store here yourself: `lanyard-agent --accept-old-store` once. It signs out every account in it that may be an old copy."
      )
    case .anchorDamaged:
      problem(
        "anchor", "The rollback anchor is damaged: it holds a count that no store reaches.",
        "Remove the store's file in ~/.config/lanyard/anchors. If the agent still refuses, restart the machine: its kernel forgets the other anchor."
      )
    case .anchorUnreadable:
      problem(
        "anchor", "The rollback anchor is damaged: it holds no count. The store may be an old copy.",
        "Put the store's file in ~/.config/lanyard/anchors back.",
        "If there is no copy of it: `lanyard-agent --accept-old-store` once. It signs every account out, and destroys their refresh tokens without sending any; sign in again then."
      )
    case .vault(.store(.missing), _):
      problem(
        check, "The store is gone: `lanyard.sqlite` is missing, empty or replaced, but it held a vault.",
        "End the agent if one runs (`lanyard stop`), and put the newest copy of the state directory back.",
        "If there is none: `lanyard-agent --new-store` once. It begins an empty store; sign in again then, or `lanyard restore` a backup."
      )
    case .vault(.store(.full), _):
      problem(check, "The disk under the store is full. Nothing was lost.", "Make room on it.")
    case .vault(.store(.newerSchema), _):
      problem(check, "A later version of the agent wrote this store.", "Update Lanyard.")
    case .vault(.store(.unsafePermissions), _):
      problem(
        check, "Others could read or replace the store's files.",
        "Let only yourself use the state directory: `chmod 700` it, and `chmod 600` the files in it.")
    case .vault(.store(.link(let name)), _):
      problem(
        check,
        "`\(name)` in the state directory is a symbolic link. The store follows none: its files must lie in one private directory.",
        "Put the file itself, and those beside it (-wal), in the place of the link.",
        "Or move the whole directory, and name it by `LANYARD_STATE_DIR`.")
    case .vault(.store(.noFile(let name)), _):
      problem(
        check, "Something else stands in the place of the store's file `\(name)`: a directory or a pipe, for example.",
        "Move it away, and put the file itself in its place, from the newest copy of the state directory.")
    case .vault(.store(.hardLinked(let name)), _):
      problem(
        check,
        "The file `\(name)` of the store has a second name (a hard link): others could read or replace it by that name.",
        "Find the other name (`find / -xdev -samefile` and the path of the file) and remove it, or copy the file and put the copy in its place."
      )
    case .vault(.store(.corrupt), _):
      problem(
        check, "The database is damaged: `lanyard.sqlite` or its -wal can't be read. The agent sends nothing of it.",
        "Put back a copy of the whole state directory that is newer than the last sign-in.",
        "Without one: move the state directory away, start the agent, and `lanyard restore` a backup.")
    case .vault(.store, _):
      problem(check, error.message, "Repair the disk, or make the store writable again.")
    case .passphrase(.noMemory):
      problem(check, error.message, "Repair the disk, or make the store writable again.")
    case .locked: notice(check, "The vault is locked.", "`lanyard unlock`")
    default:
      problem(
        check, error.message,
        "Put the missing files back: the key file, or a copy of the state directory that is newer than the last sign-in.",
        "Without one: move the state directory away, start the agent, and `lanyard restore` a backup.")
    }
  }

  /// Names the key that protects the store, and what it does not protect against.
  mutating func describe(_ protection: KeyProtection) {
    switch protection {
    case .keyFile:
      notice(
        "protection",
        "A key file beside the store protects it: against copies of the database alone, not against programs that can read your files.",
        "`lanyard key add passphrase` adds a passphrase; then `lanyard key remove` can remove the key file's slot.")
    case .passphrase:
      sound(
        "protection",
        "A passphrase protects the store while it is locked; not against programs of yours while it is open.")
    case .secretService:
      sound(
        "protection",
        "Your keyring protects the store; not against programs of yours while you are logged in.")
    case .systemdCredential:
      sound(
        "protection",
        "A credential of the service manager protects the store; not against root, nor against programs of yours.")
    }
  }
}
