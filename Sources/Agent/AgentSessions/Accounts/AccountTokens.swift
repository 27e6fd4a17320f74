internal import AgentCore
internal import AgentModel
internal import AgentOAuth
internal import AgentPorts
internal import AgentRecords
internal import Secrets

/// The access tokens in memory, and the one that the reading thread serves.
/// A part of `Account`, to which all its functions are isolated.
final class AccountTokens {
  private var tokens = IssuedTokens()
  /// The token that the reading thread serves.
  private var published: PublishedToken?

  subscript(serial: UInt64) -> IssuedToken? { tokens[serial] }

  /// Keeps an access token in memory; nil if it has expired already. `key`: the one of its grant.
  func take(
    _ token: AccessToken, boundTo key: DeviceKey?, from provider: ProviderName, of account: isolated Account
  ) -> IssuedToken? {
    let clock = account.clock
    let sentAt = token.sentAt(on: clock, highWater: account.dependencies.time.highWater(of: provider))
    let taken = tokens.take(
      token, boundTo: key, sentAt: sentAt, now: clock.boot(), entropy: account.dependencies.environment.entropy)
    if let taken, taken.key != .standard { noteValid([taken], of: account) }
    return taken
  }

  /// Takes the account's secret anew, if it holds one: its end or its place may be others now. One that has ended is
  /// served no more.
  func retakeSecret(of account: isolated Account) {
    let taken = takeSecret(of: account)
    guard account.loaded?.machine.servesTokens == true else { return }
    if let taken {
      account.loaded?.machine.restore(taken.facts, for: .standard)
    } else if account.loaded?.machine.secretHasEnded(at: account.clock.boot()) == true {
      account.loaded?.machine.retireSecret()
    } else {
      return
    }
    publish(of: account)
  }

  /// The account's secret as a token that the machine does not know yet; nil if the account holds none, or one that has
  /// ended.
  func takeSecret(of account: isolated Account) -> IssuedToken? {
    guard let loaded = account.loaded, let placement = loaded.machine.secretPlacement,
      let facts = loaded.profile.secret,
      let secret = loaded.grant.refreshToken
    else { return nil }
    let time = account.dependencies.time
    let endsIn = facts.expiresAt.map { $0 - time.calendarTime(of: loaded.profile.provider) }
    account.loaded?.machine.holdSecret(until: endsIn.map { account.clock.boot() + $0 })
    let token = AccessToken(
      secret: secret, placedAt: placement.of(username: facts.username),
      username: facts.username ?? loaded.machine.usualUsername, generation: loaded.grant.generation, endsIn: endsIn,
      clock: account.clock, highWater: time.highWater(of: loaded.profile.provider))
    return take(token, boundTo: nil, from: loaded.profile.provider, of: account)
  }

  /// Servers take them until they expire, whether the agent serves them or not.
  private func noteValid(_ tokens: [IssuedToken], of account: isolated Account) {
    let now = account.clock.boot()
    for token in tokens {
      account.dependencies.validTokens.note(
        token.secret, fingerprint: token.facts.fingerprint, expiresAt: token.facts.expiresAt, of: account.id, at: now)
    }
  }

  /// Wipes the tokens in memory: others follow. The reading thread serves its token until the next `publish`.
  func replaceAll(of account: isolated Account) { noteValid(tokens.keep(only: []), of: account) }

  /// Wipes the tokens in memory, and the one that the reading thread serves.
  func withdraw(of account: isolated Account) {
    account.dependencies.tokenCache.withdraw(account.id)
    account.dependencies.validTokens.forget(account.id)
    published = nil
    tokens.removeAll()
  }

  // MARK: what is in memory

  /// The access tokens to store for a restart, with `fresh` among them.
  func storable(with fresh: AccessToken?, of account: isolated Account) -> AccessTokens {
    let known = account.loaded?.machine.liveSerials ?? []
    let live = tokens.live(at: account.clock.boot())
    let others = live.filter { known.contains($0.facts.serial) && $0.key != fresh?.key }
    return AccessTokens(others.map(\.issued) + (fresh.map { [$0] } ?? []))
  }

  /// The live token for all the granted scopes; nil without one.
  func standard(of account: isolated Account) -> AccessCredential? {
    guard let facts = account.loaded?.machine.standardToken, account.clock.boot() < facts.expiresAt else { return nil }
    return tokens[facts.serial]?.credential
  }

  /// The live token with this fingerprint.
  func live(fingerprint: String, of account: isolated Account) -> IssuedToken? {
    tokens.live(at: account.clock.boot()).last { $0.facts.fingerprint == fingerprint }
  }

  /// The live access tokens with their remaining lifetimes.
  func live(of account: isolated Account) -> [(token: Secret, lives: Milliseconds)] {
    let now = account.clock.boot()
    return tokens.live(at: now).map { ($0.secret, $0.facts.expiresAt - now) }
  }

  // MARK: the reading thread

  /// Wipes the tokens that are no longer served, and publishes the current one to the reading thread. Again, if the
  /// provider's time was set since, or the wall clock where that is not known: the answer names when the token expires.
  func publish(of account: isolated Account) {
    guard let loaded = account.loaded else { return }
    noteValid(tokens.keep(only: loaded.machine.liveSerials), of: account)
    guard let facts = loaded.machine.standardToken, let token = tokens[facts.serial] else {
      published = nil
      return account.dependencies.tokenCache.withdraw(account.id)
    }
    let expiresAt =
      loaded.profile.givenEnd ?? account.dependencies.time.moment(facts.expiresAt, of: loaded.profile.provider)
    guard published?.serial != facts.serial || published?.namedExpiry != expiresAt else { return }
    noteUse(of: account)
    let fresh = PublishedToken(
      token, account: account.id, issuer: loaded.profile.identity.issuer, expiresAt: expiresAt)
    published = fresh
    account.dependencies.tokenCache.publish(fresh)
  }

  /// Counts the answers of the reading thread as use, too.
  func noteUse(of account: isolated Account) {
    if let used = published?.lastUsed { account.loaded?.machine.used(.standard, at: used) }
  }
}

extension AccountProfile {
  /// The end of a key as the person gave it: the end of its token on the machine's clock may be a millisecond off.
  var givenEnd: Timestamp? { kind == .secret ? secret?.expiresAt : nil }
}
