internal import AgentCore
internal import AgentModel
internal import AgentPorts
package import AgentRecords
package import AgentStore
internal import AgentVault
internal import JSONRPC
package import Secrets

extension OpenVault {
  package var callerGrants: CallerGrantStore { CallerGrantStore(vault: self) }
}

/// The callers' grants in the store.
package struct CallerGrantStore {
  let vault: OpenVault

  private var table: CallerGrantTable { vault.tables.callerGrants }

  /// Creates a grant, which works once it is committed. It is never wider than the caller's own access; without a
  /// lifetime it ends with that.
  package func create(_ wanted: CallerGrantRequest) throws(AgentFailure) -> ChangeSet<(CallerGrant, Secret)> {
    var accounts: [AccountID] = []
    for selector in wanted.accounts {
      let id = try vault.directory.profile(selector).id
      if !accounts.contains(id) { accounts.append(id) }
    }
    guard let now = vault.time.moment() else { throw .locked }
    let secret = GrantSecret.make(vault.entropy)
    let grant = CallerGrant(
      id: vault.entropy.bytes(CallerGrant.idBytes), hash: CallerGrant.hash(of: secret), client: wanted.client,
      accounts: accounts, patterns: wanted.patterns,
      scopes: Self.names(wanted.scopes, within: wanted.maker?.permission.scopes),
      resources: Self.names(wanted.resources, within: wanted.maker?.permission.resources),
      detailTypes: Self.names(wanted.detailTypes, within: wanted.maker?.permission.detailTypes),
      origins: Self.names(wanted.origins, within: wanted.maker?.permission.origins),
      passOrigins: wanted.passOrigins ?? wanted.maker?.permission.passOrigins.texts ?? [],
      // An AI agent gets those that are named for it, and none of its maker's.
      capabilities: Self.names(
        wanted.capabilities ?? (wanted.isForAgent ? [] : nil), within: wanted.maker?.permission.capabilities),
      isForAgent: wanted.isForAgent || wanted.maker?.permission.isForAgent == true, createdAt: now,
      lifetime: try lifetime(wanted.lifetime, within: wanted.maker), makers: wanted.maker?.grants ?? [])
    if let maker = wanted.maker, !grant.permission(among: table.methods).isWithin(maker.permission) {
      throw .caller(.notCovered)
    }
    let ended = table.ended
    let stored = try vault.withRecords { (records) throws(VaultFailure) in try records.callerGrants() }
    guard stored.count - ended.count < CallerGrant.most else { throw .overloaded("grants") }
    let changes: [VaultChange] = [
      .put(.vault, .callerGrant, id: grant.id, grant.record),
      vault.audited(.grantCreate, .grant(grant.name), .grantee(grant.client)),
    ]
    return ChangeSet(
      ended.map { .delete(.vault, .callerGrant, id: $0.id) } + changes + vault.trustedTime.changes,
      memory: [.callerGrantsEnded(Set(ended.map(\.name))), .callerGrant(grant)], result: (grant, secret)
    ).onlyIntoFreeRoom
  }

  /// Sorted, each once; without a wish, all that the caller's own grant has.
  private static func names(_ wanted: [String]?, within limit: Set<String>?) -> [String]? {
    (wanted.map { Set($0) } ?? limit)?.sorted()
  }

  private func lifetime(_ wanted: Milliseconds?, within limits: EffectiveGrant?) throws(AgentFailure) -> Milliseconds? {
    guard let until = limits?.until else { return wanted }
    let left = until - vault.clock.boot()
    guard wanted ?? left <= left else { throw .caller(.notCovered) }
    return wanted ?? left
  }

  /// The active grants, oldest first; for a limited caller, those created under its own grants.
  package func grants(madeBy maker: EffectiveGrant?) -> [CallerGrant] { table.current(madeBy: maker?.grants) }

  /// Adds to a grant what a person allowed. Nil if the grant has ended.
  ///
  /// - Throws: `.originNotAllowed` for an origin that no provider of the grant's accounts lists.
  func add(
    _ content: PermissionAddition, to name: String, for lifetime: Milliseconds?, audited facts: [AuditEntry.Fact]
  ) throws(AgentFailure) -> ChangeSet<CallerGrant.Addition?> {
    guard var grant = table.current().first(where: { $0.name == name }) else { return .unchanged(nil) }
    guard let now = vault.time.moment() else { throw .locked }
    try requireAllowed(content.origins, of: grant)
    grant.additions = table.additions(of: grant)
    guard grant.additions.count < CallerGrant.mostAdditions else { throw .overloaded("additions to one grant") }
    // Nothing of it outlasts the grant.
    let left = grant.lifetime.map { $0 - vault.time.elapsed(since: grant.createdAt) }
    let addition = CallerGrant.Addition(
      content: content, addedAt: now, lifetime: lifetime.map { min($0, left ?? $0) })
    grant.additions.append(addition)
    return ChangeSet(
      [
        .put(.vault, .callerGrant, id: grant.id, grant.record),
        vault.dependencies.audited(.accessDecide, outcome: "allow", facts),
      ] + vault.trustedTime.changes, memory: [.callerGrant(grant)], result: addition
    ).onlyIntoFreeRoom
  }

  /// Whether the providers of the grant's accounts list all of these origins. False if the grant has ended.
  func reaches(_ origins: Set<String>, for name: String) throws(AgentFailure) -> Bool {
    guard let grant = table.current().first(where: { $0.name == name }) else { return false }
    return origins.isSubset(of: try allowedOrigins(of: grant))
  }

  /// The origins that the providers of the grant's accounts list; none if the grant has ended.
  func allowedOrigins(for name: String) throws(AgentFailure) -> Set<String> {
    guard let grant = table.current().first(where: { $0.name == name }) else { return [] }
    return try allowedOrigins(of: grant)
  }

  private func allowedOrigins(of grant: CallerGrant) throws(AgentFailure) -> Set<String> {
    var allowed: Set<String> = []
    for id in grant.accounts {
      guard let profile = vault.directory.profiles[id] else { continue }
      allowed.formUnion(RequestRoutes.Route(try vault.providers.provider(named: profile.provider.text)).origins)
    }
    return allowed
  }

  private func requireAllowed(_ origins: Set<String>, of grant: CallerGrant) throws(AgentFailure) {
    guard origins.isSubset(of: try allowedOrigins(of: grant)) else {
      guard let account = grant.accounts.first else { throw .notFound(.callerGrant) }
      throw .originNotAllowed(account)
    }
  }

  /// Revokes a grant and its descendants, and ends the access of connections that use them.
  ///
  /// The commit comes before the change in memory: a grant that ended only in memory would be back after the next
  /// start. `CallerGrantRevocations` goes on where the disk refuses the commit.
  func revoke(_ name: String, by caller: EffectiveGrant?) throws(AgentFailure) -> ChangeSet<Void> {
    // The person may repeat what the disk refused.
    guard grants(madeBy: caller).contains(where: { $0.name == name }) || caller == nil && table.ending.contains(name)
    else { throw .notFound(.callerGrant) }
    let family = table.family(of: name)
    let ended = (table.current() + table.ended).filter { family.contains($0.name) }
    return ChangeSet(
      ended.flatMap { grant in
        [
          .delete(.vault, .callerGrant, id: grant.id),
          vault.audited(.grantRevoke, .grant(grant.name), .grantee(grant.client)),
        ]
      },
      memory: [.callerGrantsEnded(family)])
  }
}

extension Vault {
  /// The readable grants. A damaged grant and its descendants give no access; other grants are not affected.
  func callerGrants() throws(VaultFailure) -> [CallerGrant] {
    try readEach(.callerGrant).compactMap { id, plain in plain.flatMap { CallerGrant($0, id: id) } }
  }
}
