internal import AgentCore
package import AgentModel
package import AgentOAuth
internal import AgentPorts
package import AgentRecords
internal import AgentSessions
package import AgentStore

/// Makes accounts of machine identities (docs/machines.md). The first exchange comes first: a client that the provider
/// refuses makes no account.
package struct MachineAdmission: Sendable {
  private let admission: SignInAdmission
  private var dependencies: AccountDependencies { admission.dependencies }

  package init(_ signIns: SignInCoordinator) { admission = signIns.admission }

  /// Adds the provider's machine identity as an account, or signs it in again: each provider has one.
  ///
  /// - Parameter limits: of the caller, which adds no account and signs in to none that it does not cover.
  package func add(
    at provider: Provider, alias: Alias?, by limits: EffectiveGrant?
  ) async throws(AgentFailure) -> AccountID {
    let configuration = provider.configuration
    guard let grant = configuration.machine else {
      throw .invalidParameter("/provider", expected: "a machine identity")
    }
    if let alias {
      try await dependencies.vault.read { vault throws(AgentFailure) in
        try vault.directory.requirePossible(alias, at: configuration.name)
      }
    }
    return try await dependencies.introductions.pass(configuration.issuer) { () async throws(AgentFailure) in
      try await add(by: grant, at: provider, alias: alias, by: limits)
    }
  }

  private func add(
    by grant: MachineGrant, at provider: Provider, alias: Alias?, by limits: EffectiveGrant?
  ) async throws(AgentFailure) -> AccountID {
    let configuration = provider.configuration
    try await admission.groups.requireWritable()
    let device = try provider.deviceKey(by: dependencies.environment.keys)
    let hold = await admission.hold(provider)
    defer { hold.end() }
    let (response, sentAt) = try await token(by: grant, at: provider, boundTo: device)
    if BackgroundWork.isUnwanted { throw .cancelled }
    let deviceKey = response.isBound ? device : nil
    if deviceKey == nil, provider.refusesBearerTokens { throw .signIn(.notBound) }
    var record = GrantRecord(
      refreshToken: nil, generation: 1, memory: GrantMemory(health: .ok),
      scopes: .granted(response.scope, orAsked: ScopeSet(configuration.scopes)), refreshTokenExpiresAt: nil)
    record.deviceKey = deviceKey
    record.details = response.authorizationDetails.flatMap { $0.isEmpty ? nil : $0 }
    let token = AccessToken(
      response, for: .standard, of: record, isRenewable: true, sentAt: sentAt, clock: dependencies.environment.clock,
      highWater: dependencies.time.highWater(of: configuration.name))
    let asked = Admission(
      identity: Identity(
        issuer: configuration.issuer, tenant: configuration.fixedTenant,
        subject: grant.subject(ofClient: configuration.clientID)), provider: configuration.name,
      issuedBy: provider.issuingClient, alias: alias,
      grant: record, tokens: AccessTokens(token.map { [$0] } ?? []),
      told: provider.rights(in: response, for: .standard, scopes: record.scopes, source: .signIn), sentAt: sentAt,
      covered: limits?.permission.accounts, kind: .client, event: .accountAdd)
    let admitted = try await admission.groups.admit(asked)
    await admission.settle(admitted, rule: provider.refreshRule, idToken: nil)
    return admitted.profile.id
  }

  private func token(
    by grant: MachineGrant, at provider: Provider, boundTo device: DeviceKey?
  ) async throws(AgentFailure) -> (TokenResponse, sentAt: BootInstant) {
    switch await dependencies.client(of: provider).machineToken(grant, for: .standard, boundTo: device) {
    case .token(let answer, let sentAt):
      let response = answer.usable(with: device)
      if response.accessToken != nil { return (response, sentAt) }
      if answer.isBound { throw .signIn(.boundUnasked) }
      throw .signIn(response.unknownTokenType.map { .unknownTokenType($0) } ?? .notATokenResponse)
    // Nothing rotates, so that a lost answer leaves nothing in doubt.
    case .failed(.unknownOutcome(let reason, let pause)):
      throw .signIn(.exchange(.transient(reason, retryAfter: pause)))
    case .failed(.reauthenticate(let reason)): throw .signIn(.installationRefused(reason))
    case .failed(let failure):
      if let fault = failure.subjectTokenFault, case .tokenFile(let path) = grant {
        throw .subjectToken(fault, path: path, retryAfter: nil, nil)
      }
      throw .signIn(.exchange(failure))
    }
  }
}

extension ProviderConfiguration {
  /// The tenant of all accounts; nil without a fixed one.
  var fixedTenant: String? { if case .value(let value)? = tenant { value } else { nil } }
}

extension Provider {
  /// The key of a new account's tokens; nil for bearer tokens. Throws if they must be bound, and can't be.
  func deviceKey(by signer: any ClientKeySigner) throws(AgentFailure) -> DeviceKey? {
    let key = newDeviceKey(by: signer)
    if key == nil, refusesBearerTokens { throw .signIn(.notBound) }
    return key
  }
}
