package import AgentDecisions
package import AgentModel
internal import AgentOAuth
internal import AgentPermissions
package import AgentPorts
package import AgentRecords
package import AgentSessions
package import AgentStore
internal import AgentVault

/// Diagnoses an agent as a whole, for `agent.diagnose` and `lanyard-agent --check`.
package struct AgentDiagnosis: Sendable {
  private let vault: VaultActor
  private let environment: AgentEnvironment
  private let accounts: AccountDirectory
  private let policySource: PolicySourceWorker
  private let administrator: AdministratorWatch

  package init(
    of vault: VaultActor, _ environment: AgentEnvironment, accounts: AccountDirectory,
    policySource: PolicySourceWorker, administrator: AdministratorWatch
  ) {
    self.vault = vault
    self.environment = environment
    self.accounts = accounts
    self.policySource = policySource
    self.administrator = administrator
  }

  /// Diagnoses the whole agent without changing anything.
  func findings() async -> [Finding] {
    var findings = await VaultDiagnosis.findings(of: vault).list
    // A vault whose slots can't be read is a finding already.
    if let keys = try? await KeySlotDiagnosis(of: vault) { findings += keys.findings.list }
    findings += await checkStore().list
    findings += checkConfiguration().list
    findings += checkPrompts().list
    findings += checkAdministrator().list
    guard await vault.isOpen else { return findings }
    await self.accounts.settle()
    findings += await policySource.status()?.findings.list ?? []
    var isSound = true
    let accounts = try? await vault.read { vault throws(AgentFailure) in vault.directory.sortedProfiles.map(\.id) }
    for account in accounts ?? [] {
      let found = await look { vault in vault.diagnosis.account(account) }
      isSound = isSound && !found.contains { $0.check == "accountRecords" }
      findings += found
      if !found.contains(where: { $0.check == "accountRecords" }),
        let session = try? await self.accounts.account(account).session()
      {
        findings += RefreshDiagnosis(session: session).findings().list
      }
    }
    var more = Findings()
    if isSound, !findings.contains(where: { $0.check == "accountRecords" }) {
      more.sound("accountRecords", "Every account's records open.")
    }
    do throws(AgentFailure) {
      let audit = try await AuditVerification(of: vault)
      if let broken = audit.firstBroken {
        more.problem(
          "auditLog", "The audit log is not as the agent wrote it, from entry \(broken) on.",
          "Something other than the agent changed the store: ask the administrator of this machine. Accounts and tokens are not touched."
        )
      } else {
        more.sound("auditLog", "The audit log is as the agent wrote it.")
      }
    } catch {
      more.add(error, "auditLog")
    }
    findings += await look { vault in vault.diagnosis.pins() }
    findings += await look { vault in vault.diagnosis.presets() }
    findings += await look { vault in vault.diagnosis.goneFiles() }
    let work = await look { vault in vault.diagnosis.work() }
    return findings + more.list + work + refusals().list
  }

  /// The findings that a limited caller may know: of the machine, of its own accounts, and what their providers refused.
  package func findings(within limits: EffectiveGrant?) async -> [Finding] {
    let all = await findings()
    guard let limits else { return all }
    let seen = try? await vault.read { vault throws(AgentFailure) in
      Set(vault.providers.sorted(within: limits).map(\.configuration.name))
    }
    return all.filter { $0.account.map(limits.covers) ?? Self.ofTheMachine.contains($0.check) }
      + refusals { seen?.contains($0) == true }.list
  }

  /// The checks that tell of no account, provider or rule.
  private static let ofTheMachine: Set<String> = [
    "administrator", "administratorOverrules", "anchor", "auditLog", "configuration", "confinement", "memory",
    "policySource", "prompt", "protection", "signOut", "store", "storeFiles", "vault",
  ]

  /// What this provider said when it refused last. Throws for one that is not there. While the vault is locked, that is
  /// the finding: neither names nor refusals are known.
  package func refusals(of provider: ProviderName) async throws(AgentFailure) -> [Finding] {
    guard await vault.isOpen else { return await VaultDiagnosis.findings(of: vault).list }
    _ = try await vault.read { vault throws(AgentFailure) in try vault.providers.provider(named: provider.text) }
    return refusals { $0 == provider }.list
  }

  /// What providers said when they refused last. A later success of the same provider takes it away.
  private func refusals(of isWanted: (ProviderName) -> Bool = { _ in true }) -> Findings {
    var findings = Findings()
    for refusal in environment.refusals.all where isWanted(refusal.provider) {
      let name = refusal.provider.text
      let words = refusal.error + (refusal.description.map { ", \($0)" } ?? "")
      findings.notice(
        "providerRefusal", "The provider \(name) refused the last request, with status \(refusal.status): \(words)",
        refusal.error == "invalid_client"
          ? "Correct the client's id or its secret: `lanyard help provider update` tells how."
          : "If this goes on, ask the administrator of the provider, and quote this answer.")
    }
    return findings
  }

  private func checkConfiguration() -> Findings {
    var findings = Findings()
    let configuration = environment.configuration
    let problems = configuration.problems()
    for problem in problems {
      findings.problem(
        "configuration", problem, subject: configuration.path,
        "Correct it, then restart the agent: `lanyard stop` ends it, and the next command starts it.")
    }
    if problems.isEmpty, let path = configuration.path {
      findings.sound("configuration", "The configuration file \(path) is valid.")
    }
    if !configuration.isMemoryLocked() {
      findings.problem(
        "memory", "The limit of locked memory is too low, so secrets may be written to swap.",
        "Raise the limit (`ulimit -l`, `LimitMEMLOCK=` of the service) to 8 MiB, then restart the agent.",
        "Or encrypt the swap space.")
    }
    switch configuration.confinement {
    case .landlock: findings.sound("confinement", "The agent can reach its own files only, and starts no programs.")
    case .seccomp:
      findings.notice(
        "confinement", "The agent starts no programs, but the kernel does not restrict its files: it has no Landlock.",
        "Boot a kernel from 5.13 on with `landlock` in `lsm=`.")
    case Confinement.none?:
      findings.notice(
        "confinement", "The kernel restricts neither the files nor the system calls of the agent.",
        "Run the agent where filters of system calls (seccomp) and Landlock are available.")
    case nil: break
    }
    return findings
  }

  /// Why the last question to the person could not be shown.
  private func checkPrompts() -> Findings {
    var findings = Findings()
    switch environment.prompter.trouble {
    case .noProgram:
      findings.problem(
        "prompt", "The agent found no pinentry, which shows its questions.",
        "Install one, such as pinentry-gnome3 or pinentry-curses; `lanyard-agent --pinentry PATH` names another.",
        "Where a command asks for a passphrase or a PIN itself, leave out --pinentry.")
    case .notShown:
      findings.problem(
        "prompt", "pinentry was started for the last question, and ended without showing it.",
        "It has to reach your display, or a terminal that GPG_TTY names (`export GPG_TTY=$(tty)`). `lanyard stop` ends the agent; the next command starts one with the display and the terminal that it has then.",
        "Where a command asks for a passphrase or a PIN itself, leave out --pinentry.")
    case nil: break
    }
    return findings
  }

  /// The administrator's files, and which of them are ignored.
  private func checkAdministrator() -> Findings {
    var findings = Findings()
    let settings = environment.configuration.administrator
    let problems = administrator.problems
    for problem in problems {
      findings.problem(
        "administratorFiles", problem,
        "Ask the administrator of this machine. The agent keeps the last valid content of this file, and uses the other files."
      )
    }
    if let demanding = environment.configuration.hardSignOutDemandedBy {
      findings.sound("signOut", "\(demanding) demands that every sign-out erases the account's data (`signOut`).")
    }
    if let file = settings.file {
      let enforced = settings.enforced.joined(separator: ", ")
      findings.sound(
        "administrator",
        enforced.isEmpty
          ? "The administrator's file \(file) sets defaults, and enforces nothing."
          : "The administrator's file \(file) enforces \(enforced): neither your configuration nor an option changes that."
      )
    }
    if let file = settings.file, !settings.overruled.isEmpty {
      findings.notice(
        "administratorOverrules",
        "Your configuration or an option of the agent sets \(settings.overruled.joined(separator: ", ")), but \(file) enforces another value.",
        "Nothing to do: the agent uses the administrator's value.")
    }
    let content = administrator.table.content
    if problems.isEmpty, !content.providers.isEmpty || !content.policies.isEmpty {
      let providers = content.providers.map(\.provider.configuration.name.text)
      let named = [("providers", providers), ("policies", content.policies.map(\.policy.name))].filter { !$1.isEmpty }
      findings.sound(
        "administratorFiles",
        "The administrator's files set "
          + named.map { "the \($0) \($1.joined(separator: ", "))" }.joined(separator: " and ") + ".")
    }
    return findings
  }

  /// The findings of `body`; empty while the vault is locked.
  private func look(_ body: @Sendable (OpenVault) -> Findings) async -> [Finding] {
    (try? await vault.read { vault throws(AgentFailure) in body(vault).list }) ?? []
  }

  /// Runs the database's integrity check.
  private func checkStore() async -> Findings {
    var findings = Findings()
    do throws(StoreFailure) {
      let problems = try await VaultDiagnosis.integrityProblems(of: vault)
      guard let first = problems.first else {
        findings.sound("store", "The database is sound.")
        return findings
      }
      findings.problem(
        "store",
        "The database is damaged in \(problems.count == 1 ? "one place" : "\(problems.count) places"): \(first)",
        "End the agent, and put back a copy of the whole state directory that is newer than the last sign-in.",
        "Without one: move the state directory away, start the agent, and `lanyard restore` a backup.")
    } catch {
      findings.add(AgentFailure(VaultFailure.store(error)), "store")
    }
    return findings
  }

  /// Diagnoses the vault without serving clients: opens it if that needs no person, and never creates one. Returns the
  /// findings of `agent.diagnose`; `isOpen` is false if a start would fail.
  package func check(protection: String) async -> (findings: [Finding], isOpen: Bool) {
    var findings: [Finding] = []
    var isOpen = true
    do throws(AgentFailure) {
      try await vault.requireOwnStore()
      if try await vault.status().isInitialized { _ = try await vault.open(protection: protection) }
    } catch {
      var failed = Findings()
      failed.add(error, "vault")
      findings = failed.list
      isOpen = false
    }
    // The reason why it is closed is among the findings already.
    findings += await self.findings().filter { isOpen || $0.check != "vault" }
    await vault.closeStore()
    return (findings, isOpen)
  }

  /// The findings for a directory without a store.
  package static var withoutStore: [Finding] {
    var findings = Findings()
    findings.notice("vault", "There is no vault yet.", "Nothing to do: the first start of the agent creates it.")
    return findings.list
  }

  /// The findings for a store that can't be opened.
  package static func findings(of failure: StoreFailure) -> [Finding] {
    var findings = Findings()
    findings.add(AgentFailure(VaultFailure.store(failure)), "store")
    return findings.list
  }
}
