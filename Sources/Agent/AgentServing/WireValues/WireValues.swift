internal import Agent
internal import AgentCore
internal import AgentModel
internal import AgentOAuth
internal import AgentProtocol
internal import AgentRecords
internal import AgentSessions
internal import AgentWire

/// From the agent's values to those of the wire.
extension WireAccount {
  /// In a list, which may have accounts of several providers: its instants are by the machine's clock.
  init(listed profile: AccountProfile, _ agent: AgentService, active: AccountID?) {
    self.init(profile, agent, active: active)
    createdAt = agent.time.wall(createdAt, of: profile.provider)
    lastOnlineAuthAt = lastOnlineAuthAt.map { agent.time.wall($0, of: profile.provider) }
  }

  init(_ profile: AccountProfile, _ agent: AgentService, active: AccountID?) {
    self.init(
      id: profile.id, account: profile.id, alias: profile.alias, kind: WireAccountKind(profile.kind),
      provider: profile.provider,
      issuer: profile.identity.issuer, tenant: profile.identity.tenant, subject: profile.identity.subject,
      displayName: profile.displayName, email: profile.email, username: profile.secret?.username,
      expiresAt: profile.secret?.expiresAt,
      state: WireAccountState(agent.tokenCache.session(of: profile).state),
      active: profile.id == active, createdAt: profile.createdAt,
      lastOnlineAuthAt: profile.lastOnlineAuthAt?.time,
      dataProtection: profile.dataProtection.map { WireDataProtection($0) },
      tokenBinding: profile.tokenBinding.map { WireTokenBinding($0) })
  }
}

extension WireToken {
  init(_ answer: TokenAnswer) {
    let token = answer.token
    self.init(
      accessToken: token.secret, tokenType: token.tokenType,
      placement: token.placement.map { WireSecretPlacement($0, username: token.username) }, expiresAt: answer.expiresAt,
      expiresInSeconds: Int(answer.expiresInSeconds), account: answer.account, issuer: answer.issuer,
      scopes: token.scopes.names, resource: token.resource, source: WireTokenSource(answer.source),
      fingerprint: token.facts.fingerprint, generation: Int(token.generation))
  }
}

extension WireToken {
  init(_ answer: DerivedTokenAnswer) {
    let token = answer.token
    self.init(
      accessToken: token.secret, tokenType: token.tokenType, expiresAt: answer.expiresAt,
      expiresInSeconds: Int(answer.expiresInSeconds), account: answer.account, issuer: answer.issuer,
      scopes: token.scopes.names, resource: token.resource, source: WireTokenSource(answer.source),
      fingerprint: token.facts.fingerprint, generation: Int(token.generation))
  }
}

extension WireTokenSource {
  init(_ source: TokenMachine.Source) {
    switch source {
    case .cache: self = .cache
    case .refreshed: self = .refreshed
    case .staleOk: self = .staleOk
    }
  }
}

extension WireTokenFreshness {
  init(_ freshness: TokenMachine.Freshness) {
    switch freshness {
    case .fresh: self = .fresh
    case .stale: self = .stale
    case .expired: self = .expired
    case .none: self = .none
    }
  }
}

extension WireSession {
  init(_ facts: SessionFacts) {
    self.init(
      account: facts.profile.id, state: WireAccountState(facts.state), since: facts.since,
      freshness: WireTokenFreshness(facts.freshness),
      accessTokenExpiresAt: facts.accessTokenExpiresAt, refreshTokenExpiresAt: facts.refreshTokenExpiresAt,
      lastOnlineAuthAt: facts.lastOnlineAuthAt, offlineGraceUntil: facts.offlineGraceUntil, scopes: facts.scopes.names,
      lostScopes: facts.lostScopes.isEmpty ? nil : facts.lostScopes.names,
      authorizationDetails: facts.details?.objects, roles: facts.roles,
      refresh: WireRefreshState(
        phase: WireRefreshPhase(facts.phase), attempts: facts.attempts, nextAttemptAt: facts.nextAttemptAt,
        lastError: facts.lastError.map { WireLastFailure($0) }),
      serverTimeOffsetMs: facts.time.serverTimeOffset.map { Int($0.count) }, clock: WireClockTrust(facts.time.clock),
      clockBehindSeconds: facts.time.clock == .suspect ? Int(facts.time.behind.wholeSeconds) : nil,
      deviceKeyId: facts.deviceKeyID, tokenBinding: facts.tokenBinding.map { WireTokenBinding($0) },
      remedies: facts.remedies.map { WireRemedy($0) },
      generation: Int(facts.generation))
  }
}
