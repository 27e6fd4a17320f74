package import AgentCore
package import AgentModel
package import AgentOAuth
internal import AgentPorts
package import AgentStore
internal import AgentVault
package import Secrets

extension OpenVault {
  package var signOuts: SignOutStore { SignOutStore(vault: self) }
}

package struct SignedOut: Sendable {
  package var profile: AccountProfile
  package var previousState: AccountState
  package var provider: Provider?
  /// Nil if there was no refresh token.
  package var entry: OutboxEntry?
  /// Refresh tokens of earlier grants of the account that are still to be revoked.
  package var earlier: [OutboxEntry]
  /// Access tokens that the refresh token's revocation does not reach.
  package var others: [OutboxEntry]
  package var idToken: Secret?
  /// Accounts whose last data is erased now: this one, and those whose erasure a reader held up before.
  package var erased: [AccountID]
  package var wasActive: Bool
  /// Operations that a hard sign-out left undelivered.
  package var orphaned = OrphanedOperations()
  /// There was a secret, or a token of a machine, which its provider does not end.
  package var isUnrevocable = false
}

/// Stores sign-outs (docs/sign-out.md, Order) in one transaction each: before it the account is signed in, after it the
/// account is signed out and its token is either dead or in the outbox.
package struct SignOutStore {
  let vault: OpenVault

  /// `staysOffline`: the revocation waits until the network may be back. `accessTokens` are those in memory, with their
  /// remaining lifetimes.
  package func signOut(
    _ id: AccountID, _ mode: SignOutMode, staysOffline: Bool, accessTokens: [(token: Secret, lives: Milliseconds)] = []
  ) throws(AgentFailure) -> ChangeSet<SignedOut> {
    let before = try vault.directory.profile(.id(id))
    // A hard sign-out erases the data that a soft one kept; otherwise the sign-out was done already.
    guard before.signInStatus == .signedIn || (before.signInStatus == .signedOutSoft && mode == .hard) else {
      throw .signedOut(id, during: .signOut)
    }
    let loaded = try vault.journal.load(before)
    let (profile, leaving) = try leaving(before, mode)
    let provider = vault.providers.issuer(of: before)
    // What can't be ended is not kept for that.
    let lives =
      before.kind == .secret && loaded?.livingRefreshToken != nil || before.kind == .client && !accessTokens.isEmpty
    let isUnrevocable = lives && provider?.canRevoke == false
    var (entry, others) = isUnrevocable ? (nil, []) : outboxEntries(of: before, loaded, accessTokens, staysOffline)
    if mode == .hard {
      // Nothing readable of the person stands in what waits, either.
      entry?.erase(as: profile.identity, of: id)
      for place in others.indices { others[place].erase(as: profile.identity, of: id) }
    }
    let earlier = try vault.outbox.refreshTokens(of: before.identity, at: before.provider)
    let wasActive = vault.directory.active == id
    let orphaned =
      mode == .hard
      ? vault.operations.orphaning(before, into: profile.partition)
      // They wait sealed, and nothing of them stays in memory.
      : OrphanedOperations(memory: [.operations(before.partition, nil)])
    var changes = try mode == .hard ? vault.outbox.erasing(before.identity, of: profile) : []
    changes += ((entry.map { [$0] } ?? []) + others).map { vault.outbox.putting($0) }
    if wasActive { changes.append(.delete(.vault, .activeAccount)) }
    let imports = try vault.imports.signingOut(before)
    changes += leaving.records + orphaned.records + imports.records
    changes.append(vault.audited(.accountSignOut, account: id, .mode(mode.rawValue)))
    let previousState = vault.tables.tokenCache.session(of: before).state
    return ChangeSet(
      changes + vault.trustedTime.changes,
      memory: [.account(profile)] + (wasActive ? [.active(nil)] : []) + [.tokensWithdrawn(id), .stepUpEnded(id)]
        + orphaned.memory + imports.memory,
      of: id, erasing: leaving.erases, isWithdrawal: true
    ) { [entry, others] erased in
      SignedOut(
        profile: profile, previousState: previousState, provider: provider, entry: entry, earlier: earlier,
        others: others, idToken: loaded?.idToken, erased: erased, wasActive: wasActive, orphaned: orphaned,
        isUnrevocable: isUnrevocable)
    }
  }

  /// The tokens to revoke: the refresh token, and access tokens that its revocation does not reach. None that another
  /// login needs.
  private func outboxEntries(
    of profile: AccountProfile, _ loaded: LoadedGrant?, _ accessTokens: [(token: Secret, lives: Milliseconds)],
    _ staysOffline: Bool
  ) -> (entry: OutboxEntry?, others: [OutboxEntry]) {
    var entry = loaded?.livingRefreshToken.map {
      vault.outbox.entry(for: $0, of: profile, expiresAt: loaded?.grant.refreshTokenExpiresAt)
    }
    if let found = entry, vault.outbox.endsLogin(found, leaving: profile.id) { entry = nil }
    let now = vault.time.now(for: profile.provider)
    var others: [OutboxEntry] = []
    let provider = vault.providers.issuer(of: profile)
    if provider?.configuration.revocationScope == .token, provider?.canRevoke == true {
      for (token, lives) in accessTokens {
        var other = vault.outbox.entry(for: token, of: profile, expiresAt: now + lives)
        other.kind = .accessToken
        if !vault.outbox.endsLogin(other, leaving: profile.id) { others.append(other) }
      }
    }
    if staysOffline {
      let jitter = vault.entropy.fraction()
      entry?.postpone(jitter: jitter)
      for index in others.indices { others[index].postpone(jitter: jitter) }
    }
    return (entry, others)
  }

  /// The account's profile after the sign-out, and the changes of its own records.
  private func leaving(
    _ before: AccountProfile, _ mode: SignOutMode
  ) throws(AgentFailure) -> (AccountProfile, (records: [VaultChange], erases: Erasure?)) {
    let old = before.partition
    let underPIN = mode == .hard ? [] : try vault.stepUp.lockingData(of: before)
    var profile = before
    profile.epoch += 1
    profile.remember(GrantMemory(health: .signedOut))
    profile.signInStatus = mode == .hard ? .signedOutHard : .signedOutSoft
    profile.noteState(after: before.restingState, at: vault.time.now(for: profile.provider))
    guard mode == .hard else {
      return (
        profile,
        (
          [.put(old, .profile, profile.record)] + vault.records.kinds.untilSignOut.map { .delete(old, $0) }
            + underPIN
            + (underPIN.isEmpty ? [] : vault.operationTraces.putting(before)),
          underPIN.isEmpty ? nil : .values
        )
      )
    }
    profile.erase(as: try vault.digest(of: before.identity, at: before.provider))
    // A new incarnation keeps the account's id; the keys of the old one go with its rows.
    profile.partition = PartitionID(bytes: vault.entropy.bytes(PartitionID.byteCount))!
    let spent = try vault.spentAttempts.noting(of: before)
    return (profile, (spent + [.destroy(old), .put(profile.partition, .profile, profile.record)], .account(before.id)))
  }

  /// Erases a signed-out account. Returns the accounts that are erased now: without this one, if a reader of the store
  /// holds the erasure up.
  package func forget(_ selector: AccountSelector) throws(AgentFailure) -> ChangeSet<
    (AccountProfile, erased: [AccountID])
  > {
    let profile = try vault.directory.profile(selector)
    guard profile.signInStatus != .signedIn else {
      throw .invalidParameter("/account", expected: "an account that is signed out")
    }
    let spent = try vault.spentAttempts.noting(of: profile)
    let waiting = try profile.isErased ? [] : vault.outbox.erasing(profile.identity, of: profile)
    let orphaned = vault.operations.orphaning(profile, into: nil)
    let rules = vault.rules.forgetting(profile.id)
    let events = vault.events
    return ChangeSet(
      spent + waiting + orphaned.records + rules.records + [
        .destroy(profile.partition), vault.audited(.accountForget, account: profile.id),
      ],
      memory: [.accountForgotten(profile.id)] + orphaned.memory + rules.memory, of: profile.id,
      erasing: .account(profile.id),
      isWithdrawal: true
    ) { erased in
      orphaned.tell(events, of: profile.id)
      return (profile, erased)
    }
  }
}
