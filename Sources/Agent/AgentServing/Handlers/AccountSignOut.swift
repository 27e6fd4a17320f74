internal import AgentCore
internal import AgentModel
internal import AgentProtocol
internal import Secrets

/// Signed out is durable before anybody is told; what can be revoked in the caller's time is, the rest is queued.
enum AccountSignOutHandler: MethodHandler {
  typealias Method = AccountSignOut

  static func handle(_ params: AccountSignOut.Params, _ call: Call) async throws(AgentFailure) -> AccountSignOut.Result
  {
    let agent = call.agent
    let profile = try await agent.vault.profile(params.account)
    // From here on it is the agent's work: a caller that goes away leaves no account half signed out.
    return try await agent.background.finish { () async throws(AgentFailure) in
      try await signOut(profile.id, params, agent)
    }
  }

  private static func signOut(
    _ id: AccountID, _ params: AccountSignOut.Params, _ agent: AgentService
  ) async throws(AgentFailure) -> AccountSignOut.Result {
    let account = agent.accounts.account(id)
    let done = try await agent.vault.signOut(id, SignOutMode(params.mode), accessTokens: await account.liveTokens)
    await account.release(AgentFailure.token(.signedOut, id))
    agent.tokenCache.setState(.signedOut, of: id)
    // Who watches hears of it now; what became of the token is told when that is known.
    agent.events.publish(.sessionStateChanged(.signedOut, previous: done.previousState), account: id)
    if done.wasActive { agent.events.publish(.accountSwitched(active: nil, previous: id), account: id) }
    if let held = await account.surrender() { await revoke(held, params, agent) }
    let revocation = await revoke(done, params, agent)
    agent.events.publish(
      .accountSignedOut(SignOutMode(params.mode), data: done.data, revocation: revocation), account: id)
    for erased in done.erased { agent.events.publish(.accountErased, account: erased) }
    if done.data != .erased { agent.background.start { await agent.erasures.resume() } }
    return AccountSignOut.Result(
      account: id, mode: params.mode, data: WireDataDisposition(done.data),
      revocation: WireRevocationOutcome(revocation),
      endSessionUrl: done.endSessionURL)
  }

  /// What nobody knew of when the account signed out.
  private static func revoke(_ held: OutboxEntry, _ params: AccountSignOut.Params, _ agent: AgentService) async {
    guard params.mode == .offline else {
      agent.background.start { _ = await agent.revocations.send(held) }
      return
    }
    var later = held
    later.nextAttemptAt = held.createdAt + RevocationOutbox.longest
    try? await agent.vault.save(later)
    await agent.revocations.schedule(later)
  }

  private static func revoke(
    _ done: SignedOut, _ params: AccountSignOut.Params, _ agent: AgentService
  ) async -> RevocationOutcome {
    guard let entry = done.entry ?? done.others.first else { return .notNeeded }
    let revocations = agent.revocations
    guard params.mode != .offline else {
      // No network is touched now.
      for entry in [done.entry].compactMap({ $0 }) + done.others { await revocations.schedule(entry) }
      return .queued
    }
    // The refresh token first: whoever has it can make more of the others.
    defer {
      for other in done.others where other.id != entry.id {
        agent.background.start { _ = await revocations.send(other) }
      }
    }
    // The try itself goes on past the caller's budget; only the answer does not wait for it.
    let outcome = try? await withDeadline(
      seconds: params.revocationTimeoutSeconds, clock: agent.environment.clock
    ) { () async throws(AgentFailure) -> RevocationOutcome in
      await agent.background.race { await revocations.send(entry) } ?? .queued
    }
    return (outcome ?? nil) ?? .queued
  }
}

extension SignedOut {
  /// OpenID Connect RP-Initiated Logout §2: the browser ends the provider's own session there.
  var endSessionURL: String? {
    guard let provider, let endpoint = provider.endpoints.endSession.flatMap(HTTPURL.init) else { return nil }
    var items = [("client_id", provider.configuration.clientID)]
    if let idToken {
      items.insert(("id_token_hint", idToken.withBytes { String(decoding: $0, as: UTF8.self) }), at: 0)
    }
    // A page that is not registered would be refused, and with it the whole request: only what was configured is said.
    if let uri = provider.configuration.postLogoutRedirectURI { items.append(("post_logout_redirect_uri", uri)) }
    return endpoint.adding(items)
  }
}
