package import AgentCore
package import AgentModel
package import AgentOAuth
package import AgentProtocol
package import AgentStore
internal import JSONRPC

extension Provider {
  /// A provider of secrets, as its members describe it. It has no documents.
  package init(ofSecrets params: ProviderAdd.Params, _ preset: ProviderPreset?) throws(AgentFailure) {
    try params.requireMembers(of: .secret)
    let entry = preset?.catalogue
    // Where each customer has a host, the person has to say which.
    let usual = entry.flatMap { $0.needsOrigin ? nil : $0.allowedOrigins } ?? []
    guard let first = (params.allowedOrigins ?? usual).first, let origin = RequestTarget.origin(first) else {
      let looks = entry.flatMap { $0.needsOrigin ? "; the first looks like \($0.allowedOrigins[0])" : nil } ?? ""
      throw .invalidParameter(
        "/allowedOrigins",
        expected: "one origin at least: https, a host and perhaps a port, without a path; http only on a loopback host"
          + looks)
    }
    var configuration = ProviderConfiguration(name: params.name, issuer: origin, clientID: "")
    configuration.kind = .secret
    configuration.scopes = []
    configuration.allowedOrigins = usual
    try configuration.apply(secrets: params, preset)
    self.init(configuration: configuration)
  }
}

extension ProviderConfiguration {
  /// Applies the changes to a provider of secrets. What was given before must fit the new origins, too.
  ///
  /// - Parameter preset: applies to members that are not given; nil: they keep their value.
  package mutating func apply(secrets changes: some ProviderChanges, _ preset: ProviderPreset?) throws(AgentFailure) {
    try changes.requireMembers(of: .secret)
    try applyConnections(changes)
    guard !allowedOrigins.isEmpty else { throw .invalidParameter("/allowedOrigins", expected: "one origin at least") }
    if let rule = changes.tenant {
      guard let value = rule.value else { throw .invalidParameter("/tenant", expected: "the value of the tenant") }
      tenant = .value(value)
    }
    if let policy = changes.policy { self.policy = policy }
    if let preset {
      self.preset = preset.name
      secret = preset.catalogue?.secret(at: allowedOrigins)
    }
    var settings = secret ?? SecretSettings()
    if let placement = changes.placement { settings.placement = try SecretPlacement(placement) }
    if let whoami = changes.whoami { settings.whoami = .init(whoami) }
    if let revoke = changes.revoke { settings.revoke = .init(revoke) }
    if let environment = changes.environment {
      if let place = environment.firstIndex(where: { !KeyVariable.mayHoldKey($0) }) {
        throw .invalidParameter("/environment/\(place)", expected: "a variable for a key, not one that programs obey")
      }
      settings.environment = environment
    }
    try settings.check(within: RequestTarget.origins(allowedOrigins))
    secret = settings
  }
}

extension SecretSettings {
  /// - Parameter origins: those that the secret may go to, in normal form.
  fileprivate func check(within origins: Set<String>) throws(AgentFailure) {
    func check(_ url: String, at path: String) throws(AgentFailure) {
      do throws(RequestTarget.Refusal) {
        _ = try RequestTarget(url, allowedOrigins: origins)
      } catch {
        throw .invalidParameter(path, expected: "a URL at one of the provider's allowedOrigins, without a credential")
      }
    }
    if let whoami {
      try check(whoami.url, at: "/whoami/url")
      let pointers = [
        ("subject", whoami.subject), ("name", whoami.name), ("email", whoami.email), ("roles", whoami.roles),
      ]
      for (name, pointer) in pointers where pointer.map({ JSONPointer.steps($0) == nil }) ?? false {
        throw .invalidParameter("/whoami/" + name, expected: "a JSON Pointer, such as /login")
      }
    }
    guard let revoke else { return }
    try check(revoke.url, at: "/revoke/url")
    guard RequestMachine.canSend(revoke.method) else {
      throw .invalidParameter("/revoke/method", expected: RequestMachine.expectedMethod)
    }
    if let body = revoke.body, body.contains(SecretTemplate.word), SecretTemplate(body) == nil {
      throw .invalidParameter("/revoke/body", expected: "a body that names \(SecretTemplate.word) once, or not at all")
    }
  }
}

extension SecretPlacement {
  package init(_ wire: WireSecretPlacement) throws(AgentFailure) {
    let members: [(name: String, isGiven: Bool, places: [WirePlacementPlace])] = [
      ("name", wire.name != nil, [.header, .query]), ("format", wire.format != nil, [.header, .path]),
      ("username", wire.username != nil, [.basic]),
    ]
    if let other = members.first(where: { $0.isGiven && !$0.places.contains(wire.in) }) {
      throw .invalidParameter("/placement/" + other.name, expected: "nothing with this `in`")
    }
    func template(or usual: SecretTemplate?) throws(AgentFailure) -> SecretTemplate {
      guard let template = wire.format.map({ SecretTemplate($0) }) ?? usual else {
        throw .invalidParameter("/placement/format", expected: "a text that names \(SecretTemplate.word) once")
      }
      return template
    }
    switch wire.in {
    case .header: self = .header(name: wire.name ?? "Authorization", try template(or: .bearer))
    case .basic: self = .basic(username: wire.username)
    case .query:
      guard let name = wire.name else {
        throw .invalidParameter("/placement/name", expected: "the name of the parameter")
      }
      self = .query(name: name)
    case .path: self = .path(try template(or: nil))
    }
    do throws(SecretPlacement.Refusal) {
      try check()
    } catch {
      throw .invalidParameter("/placement" + error.path, expected: error.expected)
    }
  }
}

extension WireSecretPlacement {
  /// - Parameter username: what goes with the secret wherever it stands.
  package init(_ placement: SecretPlacement, username: String? = nil) {
    switch placement {
    case .header(let name, let template): self.init(in: .header, name: name, format: template.text)
    case .basic: self.init(in: .basic)
    case .query(let name): self.init(in: .query, name: name)
    case .path(let template): self.init(in: .path, format: template.text)
    }
    self.username = placement.username ?? username
  }
}

extension SecretSettings.WhoAmI {
  fileprivate init(_ wire: WireWhoami) {
    self.init(url: wire.url, subject: wire.subject, name: wire.name, email: wire.email, roles: wire.roles)
  }
}

extension SecretSettings.Revocation {
  fileprivate init(_ wire: WireSecretRevocation) { self.init(method: wire.method, url: wire.url, body: wire.body) }
}

extension WireProvider {
  /// A provider of secrets: it has none of the members of a sign-in.
  package init(ofSecrets provider: Provider, _ settings: SecretSettings) {
    let it = provider.configuration
    var tenant: WireTenantRule?
    if case .value(let value)? = it.tenant { tenant = WireTenantRule(value: value) }
    self.init(
      name: it.name, kind: WireAccountKind(it.kind), issuer: it.issuer, clientId: "",
      placement: WireSecretPlacement(settings.placement),
      whoami: settings.whoami.map {
        WireWhoami(url: $0.url, subject: $0.subject, name: $0.name, email: $0.email, roles: $0.roles)
      },
      revoke: settings.revoke.map { WireSecretRevocation(method: $0.method, url: $0.url, body: $0.body) },
      environment: settings.environment, clientSecretSet: false, tenant: tenant, allowedOrigins: it.allowedOrigins,
      pins: WireMap(it.pins.sorted { $0.key < $1.key }.map { .init(name: $0.key, value: $0.value) }),
      pinsExpireAt: it.pinsExpireAt, caFile: it.caFile, proxy: it.proxy, policy: it.policy, preset: it.preset,
      source: provider.managedBy)
  }
}
