internal import AgentModel
internal import AgentOAuth
package import AgentPermissions
package import AgentPorts
internal import AgentRecords
package import AgentSessions
internal import AgentStore

/// Looks at the administrator's files: at the start, when a caller asks for what they concern, and now and then
/// (docs/administrator.md).
package final class AdministratorWatch: Sendable {
  /// Reads the documents of a listing.
  package typealias Reader = @Sendable (AdministratorListing) -> AdministratorContent

  package let table: AdministratorTable
  private let files: (any AdministratorFiles)?
  private let read: Reader
  private let policies: PolicyCache
  private let dependencies: AccountDependencies
  private let accounts: AccountDirectory
  private let revocations: RevocationWorker
  private let turn = AsyncMutex()

  /// The time between two looks where no caller asks: after it a change of a policy counts for cached decisions, too. A
  /// look is some system calls a file.
  private static let interval = Milliseconds.seconds(5)

  package init(
    _ table: AdministratorTable, policies: PolicyCache, dependencies: AccountDependencies, accounts: AccountDirectory,
    revocations: RevocationWorker, read: @escaping Reader
  ) {
    self.table = table
    files = dependencies.environment.configuration.administratorFiles
    self.read = read
    self.policies = policies
    self.dependencies = dependencies
    self.accounts = accounts
    self.revocations = revocations
  }

  /// Reads the files before the vault is opened.
  package func begin() {
    guard let files else { return }
    // The log has these already.
    let told = dependencies.environment.configuration.administratorProblems()
    let content = read(files.listing())
    table.set(content)
    policies.setManaged(content)
    report(since: told)
  }

  /// Looks again, and applies what changed.
  package func lookAgain() async {
    guard let files else { return }
    try? await turn.pass { [self] () async throws(AgentFailure) in
      let before = table.content
      let isChanged = files.mark() != before.mark
      guard isChanged || table.isBehind || table.isWaiting else { return }
      let problems = table.problems.map(\.text)
      let content = isChanged ? read(files.listing()).keeping(before) : before
      let isForAccounts = !isChanged && !table.isBehind
      if !isForAccounts {
        table.set(content)
        applyPolicies(of: content)
        await loadAccounts(of: content, before)
      }
      await applyProviders(isForAccounts: isForAccounts)
      report(since: problems)
    }
  }

  /// Keeps looking. Where there is no such directory nothing is looked for without a caller.
  package func watch() {
    guard let files, !files.mark().isEmpty else { return }
    let clock = dependencies.environment.clock
    let alarm = Alarm(clock: clock, background: dependencies.background)
    alarm.set(clock.boot() + Self.interval) { [weak self] in
      guard let self else { return nil }
      await lookAgain()
      return clock.boot() + Self.interval
    }
  }

  /// More problems at once are told by their number: `lanyard doctor` lists them.
  private static let mostReports = 20

  /// Tells the problems that are new.
  private func report(since known: [String]) {
    var told = Set(known)
    let new = table.problems.map(\.text).filter { told.insert($0).inserted }
    for text in new.prefix(Self.mostReports) { files?.report(text) }
    let rest = new.count - Self.mostReports
    if rest > 0 { files?.report("\(rest) more problems of the administrator's files: `lanyard doctor` lists them.") }
  }

  /// Everything of the administrator's files that does not count as it was written, each once.
  package var problems: [String] {
    var told: Set<String> = []
    return (dependencies.environment.configuration.administratorProblems() + table.problems.map(\.text))
      .filter { told.insert($0).inserted }
  }

  /// Applies the policies of the administrator's files, and tells which decide now.
  private func applyPolicies(of content: AdministratorContent) {
    let before = policies.managed
    policies.setManaged(content)
    let after = policies.managed
    for name in Set(before.keys).union(after.keys).sorted() {
      guard let policy = (after[name] ?? before[name])?.policy else { continue }
      if before[name]?.document != after[name]?.document {
        dependencies.events.publish(.policyChanged(name: name, version: policy.version))
      }
    }
  }

  /// An account tells its subscribers what a change of its provider makes of it only if it is loaded before.
  private func loadAccounts(of content: AdministratorContent, _ before: AdministratorContent) async {
    let names = Set((content.providers + before.providers).map { $0.provider.configuration.name }).sorted()
    for name in names { await accounts.load(await accountsOf(name)) }
  }

  /// Brings the providers of the vault in step, and their accounts with them.
  private func applyProviders(isForAccounts: Bool) async {
    for name in await dependencies.vault.reconcile(isForAccounts: isForAccounts).changed {
      dependencies.environment.refusals.forget(name)
      await accounts.configurationChanged(await accountsOf(name))
      dependencies.background.start { [revocations] in await revocations.resume(.reconfigured(name)) }
    }
  }

  private func accountsOf(_ provider: ProviderName) async -> [AccountID] {
    (try? await dependencies.vault.read { vault throws(AgentFailure) in vault.directory.accounts(of: provider) }) ?? []
  }
}
