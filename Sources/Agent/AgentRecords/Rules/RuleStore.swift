package import AgentCore
package import AgentModel
internal import AgentOAuth
internal import AgentPorts
package import AgentStore
internal import AgentVault

extension OpenVault {
  package var rules: RuleStore { RuleStore(vault: self) }
}

/// The rules in the store.
package struct RuleStore {
  let vault: OpenVault

  /// The bound in the schema of `rule.list`.
  static let most = 1024

  /// Oldest first.
  var all: [AccountRule] { vault.ruleTable.all }

  /// Those of the caller's accounts; all of them where nothing limits it.
  package func all(within grant: EffectiveGrant?) -> [AccountRule] {
    guard let grant else { return all }
    return all.filter { grant.covers($0.account) }
  }

  /// The ids of rules whose records do not open.
  package var damaged: [String] { vault.ruleTable.damaged.map { AccountRule.name(of: $0) }.sorted() }

  /// Adds a rule; one that is there already is returned as it is. A limited caller's leads to no other host than the
  /// account's provider and the grant do: tokens go nowhere that the person did not name.
  package func add(
    _ pattern: ResourcePattern, for selector: AccountSelector, by grant: EffectiveGrant?
  ) throws(AgentFailure) -> ChangeSet<AccountRule> {
    let account = try vault.directory.profile(selector)
    guard !account.isErased else { throw .signedOut(account.id) }
    if let grant {
      let allowed = vault.providerTable.all[account.provider]?.configuration.allowedOrigins ?? []
      guard RequestTarget.origins(allowed).contains(pattern.origin), grant.permission.covers(origin: pattern.origin)
      else { throw .caller(.notCovered) }
    }
    if let same = all.first(where: { $0.pattern == pattern && $0.account == account.id }) { return .unchanged(same) }
    guard all.count < Self.most else { throw .overloaded("rules") }
    let rule = AccountRule(
      id: vault.entropy.bytes(AccountRule.idBytes), pattern: pattern, account: account.id,
      createdAt: vault.clock.wall())
    return ChangeSet(
      [
        .put(.vault, .rule, id: rule.id, rule.record),
        vault.audited(.ruleAdd, account: account.id, .rule(rule.name), .pattern(pattern.text)),
      ],
      memory: [.rule(rule)], result: rule
    ).onlyIntoFreeRoom
  }

  /// Removes a rule, also one whose record does not open.
  package func remove(_ name: String) throws(AgentFailure) -> ChangeSet<Void> {
    let known = all.first { $0.name == name }
    guard let id = known?.id ?? vault.ruleTable.damaged.first(where: { AccountRule.name(of: $0) == name }) else {
      throw .notFound(.rule)
    }
    return ChangeSet(
      [
        .delete(.vault, .rule, id: id),
        vault.audited(.ruleRemove, account: known?.account, .rule(name)),
      ],
      memory: [.ruleRemoved(id)])
  }

  /// The rules of a backup's account, for the account that it becomes; as many as there is room for.
  package func restoring(_ backedUp: [AccountRule], for account: AccountID) -> [AccountRule] {
    backedUp.prefix(max(0, Self.most - all.count)).map { rule in
      AccountRule(
        id: vault.entropy.bytes(AccountRule.idBytes), pattern: rule.pattern, account: account,
        createdAt: rule.createdAt)
    }
  }

  /// The changes for an account that is forgotten: a rule that names it would choose nothing any more.
  func forgetting(_ account: AccountID) -> (records: [VaultChange], memory: [MemoryChange]) {
    let its = all.filter { $0.account == account }
    return (its.map { .delete(.vault, .rule, id: $0.id) }, its.map { .ruleRemoved($0.id) })
  }

  /// Decides which account answers for a URL, among those that the caller may see.
  ///
  /// A rule that does not open may be the one that gives the URL to another account, so nothing is decided without it.
  package func choose(
    for url: HTTPURL, hints: ResourceAccount.Hints, among sees: (AccountProfile) -> Bool
  ) throws(AgentFailure) -> ResourceAccount {
    guard vault.ruleTable.damaged.isEmpty else { throw .vault(.integrity) }
    let providers = Set(
      vault.providerTable.all.values
        .filter { RequestTarget.origins($0.configuration.allowedOrigins).contains(url.origin) }
        .map(\.configuration.name))
    let candidates = vault.directory.sortedProfiles.filter(sees).map { profile in
      ResourceAccount.Candidate(
        account: profile.id,
        names: profile.isErased
          ? []
          : [profile.alias?.text, profile.email, profile.secret?.username, profile.identity.subject].compactMap { $0 },
        fitsByProvider: providers.contains(profile.provider), isSignedIn: profile.signInStatus == .signedIn)
    }
    do throws(ResourceAccount.Refusal) {
      return try ResourceAccount.choose(for: url, rules: all.map(\.decided), candidates: candidates, hints: hints)
    } catch {
      switch error {
      case .noneFits: throw .notFound(.answer)
      case .unknown: throw vault.directory.notFound
      case .ambiguous(let accounts): throw .accountAmbiguous(accounts)
      case .changedFile: throw .changedDirectoryFile
      }
    }
  }
}

extension AgentFailure {
  /// The `.lanyard` file would decide, and is not to be relied on.
  package static var changedDirectoryFile: AgentFailure {
    .invalidParameter(
      "/workingDirectory", expected: "a directory whose `.lanyard` file is as the person trusted it")
  }
}
