internal import AgentCore
internal import AgentModel
internal import AgentPorts
internal import AgentProtocol
internal import JSONRPC
internal import Secrets

/// The grants on the disk, and what is said of each before it is there.
extension VaultActor {
  /// Durable, and open to whoever has the secret, when it returns. What is asked for must not be wider than what the
  /// caller has itself; without a lifetime it ends with that.
  func createGrant(
    _ params: GrantCreate.Params, patterns: [MethodPattern], for call: Call
  ) throws(AgentFailure) -> (CallerGrant, Secret) {
    let vault = try unlockedVault()
    var accounts: [AccountID] = []
    for selector in params.accounts {
      let id = try profile(call.pinned(selector)).id
      if !accounts.contains(id) { accounts.append(id) }
    }
    guard let now = time.moment() else { throw .locked }
    let secret = GrantSecret.make(entropy)
    let grant = CallerGrant(
      id: entropy.bytes(CallerGrant.idBytes), hash: CallerGrant.hash(of: secret), client: params.client,
      accounts: accounts, patterns: patterns, createdAt: now,
      lifetime: try lifetime(params.expiresInSeconds.map { .seconds(Int64($0)) }, within: call.limits),
      makers: call.limits?.grants ?? [])
    if let limits = call.limits, !grant.permission.isWithin(limits.permission) { throw .caller(.notCovered) }
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
  func grants(for call: Call) throws(AgentFailure) -> [CallerGrant] {
    _ = try unlockedVault()
    return callerGrants.current(madeBy: call.limits?.grants)
  }

  /// Ends a grant and all that it made: durable when it returns, and connections that use them have none any more.
  func revokeGrant(_ name: String, for call: Call) throws(AgentFailure) {
    guard try grants(for: call).contains(where: { $0.name == name }) else {
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

extension VaultActor {
  /// The summary, of the accounts that the caller sees.
  func summary(for call: Call) throws(AgentFailure) -> Summary {
    var summary = try summary()
    guard call.limits != nil else { return summary }
    summary.profiles = summary.profiles.filter(call.sees)
    summary.pendingRevocations = vault == nil ? 0 : try outbox(for: call).count
    return summary
  }
}

extension Vault {
  /// One that is damaged opens nothing, and what it made opens nothing; the others are not touched.
  func callerGrants() throws(VaultFailure) -> [CallerGrant] {
    try readEach(.callerGrant).compactMap { id, plain in plain.flatMap { CallerGrant($0, id: id) } }
  }
}
