package import AgentCore
package import AgentModel
internal import AgentOAuth
internal import AgentPorts
internal import AgentRecords
package import AgentStore

/// The snapshot of what the person may do, as the provider told it last (docs/offline.md, Snapshots). The tokens of an
/// exchange bring a part of it; `RightsFetcher` asks for the rest.
extension Account {
  /// The snapshot and its age on the provider's timeline; nil if there is none. Without I/O once the account is loaded.
  package func snapshot() async throws(AgentFailure) -> (snapshot: AuthorizationSnapshot, age: Milliseconds)? {
    try await load()
    guard let loaded else { throw .locked }
    return snapshot(of: loaded)
  }

  /// The same for decisions, which have loaded the account.
  func snapshot(of loaded: Loaded) -> (snapshot: AuthorizationSnapshot, age: Milliseconds)? {
    loaded.rights.map { rights in
      let snapshot = rights.snapshot
      return (snapshot, dependencies.time.elapsed(since: snapshot.fetchedAt, by: loaded.profile.provider))
    }
  }

  /// Runs an exchange, whose tokens tell the rights, and then asks userinfo and the entitlements' address. For a grant
  /// that can't be exchanged it asks only the latter two.
  package func refreshSnapshot() async throws(AgentFailure) {
    try await load()
    guard let start = loaded else { throw .locked }
    if start.profile.kind != .openid {
      _ = try await token(.standard, .forced)
      return
    }
    let begun = rightsFetcher.begun
    if start.grant.refreshToken != nil || start.machine.health != .ok {
      // First finish an exchange that a crash interrupted: its answer is older than this request.
      if exchanges.machine.unfinished.heldAnswer != nil {
        _ = try? await token(.standard, .usable(minimumLifetime: .zero))
      }
      _ = try await token(.standard, .forced)
    } else {
      // The grant can't be exchanged: only userinfo and the entitlements' address can answer anew, with the current
      // token.
      _ = try await token(.standard, .usable(minimumLifetime: .zero))
      let provider = try await dependencies.vault.provider(named: start.profile.provider.text)
      guard provider.tellsBesideTokens else { throw .token(.misconfigured(TokenMachine.noRefreshToken), id) }
    }
    let ended = await dependencies.background.race { await RightsFetcher.next(after: begun, for: self) }
    guard let ended else { throw Task.isCancelled ? .cancelled : .shuttingDown }
    if let failure = ended.failure { throw failure.attributed(to: id) }
  }

  /// After a sign-in. Returns at once.
  package func fetchRights() { rightsFetcher.start(for: self) }

  /// Takes over what `RightsStore` joined, and tells subscribers. Of two that come in the other order, the later
  /// stands.
  func adopt(_ change: RightsChange?) {
    guard let change, let known = loaded else { return }
    if let rights = known.rights, rights.revision >= change.rights.revision { return }
    loaded?.rights = change.rights
    if change.rights.version != known.rights?.version {
      dependencies.events.publish(.snapshotChanged(change.rights.snapshot), account: id)
    }
  }
}

extension Provider {
  /// Rights are told elsewhere than in its tokens.
  fileprivate var tellsBesideTokens: Bool {
    rightsRule.hasEntitlementsURL || rightsRule.rolesClaim != nil && rightsRule.hasUserInfo
  }
}
