package import AgentModel
package import AgentOAuth
package import AgentProtocol

extension WireProvider {
  package init(_ provider: Provider) {
    let it = provider.configuration
    if let secrets = it.secret {
      self.init(ofSecrets: provider, secrets)
      return
    }
    self.init(
      name: it.name, kind: WireAccountKind(it.kind), issuer: it.issuer, clientId: it.clientID,
      clientRegistered: provider.registration.map { _ in true }, clientSecretSet: provider.clientSecret != nil,
      clientKeySet: provider.clientKey.map { _ in true },
      tokenEndpointAuthMethod: it.tokenEndpointAuthMethod.flatMap { WireClientAuthMethod(rawValue: $0.rawValue) },
      scopes: it.scopes, resources: it.resources,
      authorizationParameters: it.authorizationParameters.isEmpty
        ? nil
        : WireMap(it.authorizationParameters.sorted { $0.key < $1.key }.map { .init(name: $0.key, value: $0.value) }),
      endpoints: WireEndpoints(provider.endpoints),
      ignoredEndpoints: provider.ignoredEndpoints?.map(\.name),
      redirect: WireRedirect(host: it.redirect.host, port: it.redirect.port.map(Int.init), path: it.redirect.path),
      refresh: WireRefreshRules(
        reuse: WireTokenReuse(rawValue: provider.reuse.rawValue) ?? .strict,
        graceSeconds: provider.reuse == .grace ? Int(it.refresh.graceSeconds) : nil,
        onUnknownOutcome: WireUnknownOutcomeRule(rawValue: it.onUnknownOutcome.rawValue)),
      refreshBecause: WireRefreshRuleBasis(provider.refreshRuleBasis),
      narrowing: WireNarrowing(rawValue: it.narrowing.rawValue), dpop: WireDpopUse(rawValue: it.dpop.rawValue),
      requirePkce: it.requiresPKCE ? true : nil,
      identity: it.identity == .person ? nil : WireIdentitySource(rawValue: it.identity.rawValue),
      errorCodes: WireMap(
        it.errorCodes.sorted { $0.key < $1.key }.compactMap { code, meaning in
          WireFailureClass(rawValue: meaning.rawValue).map { .init(name: code, value: $0) }
        }),
      tenant: it.tenant.map { rule in
        switch rule {
        case .claim(let claim): WireTenantRule(claim: claim)
        case .value(let value): WireTenantRule(value: value)
        }
      },
      authorization: WireAuthorizationRules(
        rolesClaim: it.authorization.rolesClaim, tenantClaim: it.authorization.tenantClaim,
        entitlementsUrl: it.authorization.entitlementsURL),
      revocationScope: WireRevocationScope(rawValue: it.revocationScope.rawValue),
      postLogoutRedirectUri: it.postLogoutRedirectURI, persistAccessTokens: it.persistAccessTokens,
      allowedOrigins: it.allowedOrigins, allowedFields: it.allowedFields.isEmpty ? nil : it.allowedFields,
      pins: WireMap(it.pins.sorted { $0.key < $1.key }.map { .init(name: $0.key, value: $0.value) }),
      pinsExpireAt: it.pinsExpireAt,
      caFile: it.caFile, proxy: it.proxy, policy: it.policy, preset: it.preset, source: provider.managedBy)
    if let machine = it.machine { self = ofMachine(machine) }
  }
}

extension WireEndpoints {
  package init(_ it: ServerMetadata.Endpoints) {
    self.init(
      authorization: it.authorization, token: it.token, deviceAuthorization: it.deviceAuthorization,
      revocation: it.revocation, introspection: it.introspection, userinfo: it.userinfo, endSession: it.endSession,
      jwks: it.jwks, registration: it.registration, pushedAuthorizationRequest: it.pushedAuthorizationRequest)
  }
}

extension WireRefreshRuleBasis {
  package init(_ basis: Provider.RefreshRuleBasis) {
    switch basis {
    case .configured: self = .configured
    case .learned: self = .learned
    case .preset: self = .preset
    case .assumed: self = .assumed
    }
  }
}
