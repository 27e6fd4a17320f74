internal import AgentCore
package import AgentModel
internal import AgentOAuth
internal import AgentPorts
package import AgentRecords
package import AgentStore
package import Secrets

extension SignInCoordinator {
  /// Takes over a refresh token from elsewhere: it is used at once, so that the agent owns its lineage. If that fails,
  /// nothing is kept. The agent looks for every obstacle first, since the token may be good only once.
  ///
  /// A token that was taken over before is not sent again while its account's session lives: a provider that rotates
  /// ends the session if it comes back (RFC 9700 §4.14.2). Imports of one token are done one after the other, so that
  /// the later ones find what the first one brought.
  package func takeOver(
    _ refreshToken: Secret, provider name: String, alias: Alias?, by limits: EffectiveGrant?
  ) async throws(AgentFailure) -> AccountID {
    let digest = Fingerprint.number(of: refreshToken)
    let place = "imp_\(digest)"
    while !importing.insert(place).inserted {
      let waiter = waiters.newID()
      await withCheckedContinuation { waiters.add(waiter, for: place, until: nil, $0) }
    }
    defer {
      importing.remove(place)
      waiters.resumeAll(for: place)
    }
    let provider = try await providers.provider(name) { $0.authorization != nil && $0.token != nil }
    // No key was there when the token was issued, and it may be good only once.
    if provider.refusesBearerTokens { throw .signIn(.notBound) }
    if let alias { try await requirePossible(alias, at: provider) }
    let known = try await dependencies.vault.read { vault throws(AgentFailure) in
      vault.directory.account(ofImported: digest, at: provider.configuration.name)
    }
    if let known, known.hasLivingSession { return try await answer(known, alias, by: limits) }
    try await groups.requireWritable()
    let client = dependencies.client(of: provider)
    let answer = await client.refresh(refreshToken, key: .standard)
    let (figures, issuer) = (dependencies.environment.figures, provider.configuration.issuer)
    switch answer {
    case .failed(let failure):
      figures.grantEnded(.import, failure, issuer: issuer)
      if case .reauthenticate = failure, known != nil { throw .signIn(.importedBefore) }
      throw .signIn(.exchange(failure))
    case .answered(let body, let sentAt):
      figures.grantEnded(.import, nil, issuer: issuer)
      return try await admission.admit(
        SignInAdmission.IssuedAnswer(
          body, sentAt, importing: refreshToken, scopes: provider.configuration.scopes, alias: alias, by: limits),
        client, of: self
      ).profile.id
    }
  }

  /// The account that an earlier import of the token brought, under the alias of this one.
  private func answer(
    _ known: AccountProfile, _ alias: Alias?, by limits: EffectiveGrant?
  ) async throws(AgentFailure) -> AccountID {
    if let limits, !limits.covers(known.id) { throw .caller(.notCovered) }
    guard let alias, alias != known.alias else { return known.id }
    return try await dependencies.vault.commit { vault throws(AgentFailure) in
      try vault.accounts.rename(.id(known.id), to: alias)
    }
  }
}
