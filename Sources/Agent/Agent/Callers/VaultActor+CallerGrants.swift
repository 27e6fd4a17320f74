internal import AgentCore
internal import AgentModel
internal import AgentPorts
internal import JSONRPC
internal import Secrets

/// The grants on the disk, and what is said of each before it is there.
extension VaultActor {
  /// Durable, and open to the program that has the secret, when it returns. A grant is never wider than what the caller
  /// has itself; without a lifetime it ends with that.
  func createGrant(_ wanted: CallerGrantRequest) throws(AgentFailure) -> (CallerGrant, Secret) {
    let vault = try unlockedVault()
    var accounts: [AccountID] = []
    for selector in wanted.accounts {
      let id = try profile(selector).id
      if !accounts.contains(id) { accounts.append(id) }
    }
    guard let now = time.moment() else { throw .locked }
    let secret = GrantSecret.make(entropy)
    let grant = CallerGrant(
      id: entropy.bytes(CallerGrant.idBytes), hash: CallerGrant.hash(of: secret), client: wanted.client,
      accounts: accounts, patterns: wanted.patterns, createdAt: now,
      lifetime: try lifetime(wanted.lifetime, within: wanted.maker), makers: wanted.maker?.grants ?? [])
    if let maker = wanted.maker, !grant.permission(among: callerGrants.methods).isWithin(maker.permission) {
      throw .caller(.notCovered)
    }
    let over = callerGrants.over
    guard
      try onVault({ (vault) throws(VaultFailure) in try vault.callerGrants() }).count - over.count < CallerGrant.most
    else { throw .overloaded("grants") }
    let changes =
      over.map { VaultChange.delete(.vault, .callerGrant, id: $0.id) } + [
        .put(.vault, .callerGrant, id: grant.id, grant.record),
        audited(.grantCreate, .grant(grant.name), .grantee(grant.client)),
      ] + timeRecord
    do {
      try vault.apply(changes)
    } catch {
      throw AgentFailure(error)
    }
    callerGrants.remove(Set(over.map(\.name)))
    callerGrants.put(grant)
    return (grant, secret)
  }

  private func lifetime(_ wanted: Milliseconds?, within limits: EffectiveGrant?) throws(AgentFailure) -> Milliseconds? {
    guard let until = limits?.until else { return wanted }
    let left = until - clock.boot()
    guard wanted ?? left <= left else { throw .caller(.notCovered) }
    return wanted ?? left
  }

  /// Those that stand, oldest first; for a limited caller, what its own grants made.
  func grants(madeBy maker: EffectiveGrant?) throws(AgentFailure) -> [CallerGrant] {
    _ = try unlockedVault()
    return callerGrants.current(madeBy: maker?.grants)
  }

  /// Ends a grant and all that it made: durable when it returns, and connections that use them have none any more.
  func revokeGrant(_ name: String, by caller: EffectiveGrant?) throws(AgentFailure) {
    guard try grants(madeBy: caller).contains(where: { $0.name == name }) else {
      throw .notFound(.callerGrant)
    }
    let family = callerGrants.family(of: name)
    let ended =
      callerGrants.current().filter { family.contains($0.name) } + callerGrants.over.filter { family.contains($0.name) }
    let changes = ended.flatMap { grant in
      [
        .delete(.vault, .callerGrant, id: grant.id),
        audited(.grantRevoke, .grant(grant.name), .grantee(grant.client)),
      ]
    }
    // Written down first: one that is ended in memory alone would come back with the next start, and could not be
    // revoked again until then.
    try onVault { (vault) throws(VaultFailure) in try vault.apply(changes) }
    callerGrants.remove(family)
  }
}

extension Vault {
  /// One that is damaged opens nothing, and what it made opens nothing; the others are not touched.
  func callerGrants() throws(VaultFailure) -> [CallerGrant] {
    try readEach(.callerGrant).compactMap { id, plain in plain.flatMap { CallerGrant($0, id: id) } }
  }
}
