internal import AgentCore
internal import AgentModel
internal import AgentPorts
internal import Secrets

/// The access tokens in memory, and the one that the reading thread serves.
extension Account {
  /// Keeps an access token in memory; nil if it has expired already.
  package func take(_ token: AccessToken) -> IssuedToken? {
    guard let provider = loaded?.profile.provider else { return nil }
    return take(token, from: provider)
  }

  func take(_ token: AccessToken, from provider: ProviderName) -> IssuedToken? {
    let now = clock.boot()
    let sentAt = token.sentAt(on: clock, now: dependencies.time.now(for: provider))
    return tokens.take(token, sentAt: sentAt, now: now, entropy: dependencies.environment.entropy)
  }

  /// The access tokens to store for a restart, with `fresh` among them.
  func storableTokens(with fresh: AccessToken?) -> AccessTokens {
    let known = loaded?.machine.liveSerials ?? []
    let others = tokens.live(at: clock.boot()).filter { known.contains($0.facts.serial) && $0.key != fresh?.key }
    return AccessTokens(others.map(\.issued) + (fresh.map { [$0] } ?? []))
  }

  /// The live token for all the granted scopes; nil without one.
  var standardToken: Secret? {
    guard let facts = loaded?.machine.standardToken, clock.boot() < facts.expiresAt else { return nil }
    return tokens[facts.serial]?.secret
  }

  /// The live access tokens with their remaining lifetimes.
  var liveTokens: [(token: Secret, lives: Milliseconds)] {
    let now = clock.boot()
    return tokens.live(at: now).map { ($0.secret, $0.facts.expiresAt - now) }
  }

  /// The wall clock was set: publishes the token again, since its answer names wall-clock times.
  func clockChanged() {
    noteUse()
    published = nil
    publish()
  }

  /// Wipes the tokens that are no longer served, and publishes the current one to the reading thread.
  package func publish() {
    guard let loaded else { return }
    tokens.keep(only: loaded.machine.liveSerials)
    guard let facts = loaded.machine.servedToken, let token = tokens[facts.serial] else {
      published = nil
      return dependencies.tokenCache.withdraw(id)
    }
    guard published?.serial != facts.serial else { return }
    noteUse()
    let fresh = PublishedToken(
      token, account: id, issuer: loaded.profile.identity.issuer, expiresAt: token.expiresAt(on: clock))
    published = fresh
    dependencies.tokenCache.publish(fresh)
  }
}
