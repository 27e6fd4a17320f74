internal import AgentCore
package import AgentModel
package import AgentOAuth
package import AgentPorts
package import AgentProtocol
internal import AgentRecords
package import AgentStore
internal import JSONRPC

extension Provider {
  /// A provider of a machine identity, as its members describe it, before its documents are read.
  package init(ofMachine params: ProviderAdd.Params, signer: any ClientKeySigner) throws(AgentFailure) {
    try params.requireMembers(of: .client)
    if params.preset != nil {
      throw .invalidParameter("/preset", expected: "nothing for a provider of the kind client")
    }
    guard let wire = params.machine else {
      throw .invalidParameter("/machine", expected: "how the machine identity gets its tokens, such as a `grant`")
    }
    let machine = try MachineGrant(wire)
    if let endpoints = params.endpoints { _ = try ServerMetadata.Endpoints(endpoints) }
    let clientID: String
    var endpoint = params.endpoints?.token
    if case .githubApp(let installation) = machine {
      try params.requireMembersOfInstallation()
      clientID = installation.appID
      if params.issuer == nil { endpoint = endpoint ?? installation.usualTokenEndpoint }
      guard endpoint != nil else {
        throw .invalidParameter("/endpoints", expected: "a `token`: where the installation's tokens are asked for")
      }
    } else if case .tokenFile = machine {
      clientID = params.clientId ?? ""
      if clientID.isEmpty, params.clientSecret != nil || params.clientKey != nil {
        throw .invalidParameter("/clientId", expected: "the id of the client whose secret or key is given")
      }
    } else {
      guard let id = params.clientId else { throw .invalidParameter("/clientId", expected: "the client's id") }
      clientID = id
    }
    guard let issuer = params.issuer ?? endpoint.flatMap({ HTTPURL($0)?.origin }) else {
      throw .invalidParameter("/issuer", expected: "the provider's issuer, or `endpoints` with a `token`")
    }
    var configuration = ProviderConfiguration(name: params.name, issuer: issuer, clientID: clientID)
    configuration.kind = .client
    configuration.machine = machine
    configuration.scopes = []
    configuration.endpoints.token = endpoint
    if case .githubApp = machine { configuration.dpop = .off }
    // Each exchange is the grant: nothing rotates, and fewer scopes take nothing away.
    configuration.refresh.reuse = .none
    configuration.isRefreshConfigured = true
    configuration.narrowing = .keeps
    // No refresh token reaches the access tokens: a sign-out revokes each.
    configuration.revocationScope = .token
    try configuration.apply(params)
    self.init(configuration: configuration, clientSecret: params.clientSecret, clientKey: params.clientKey)
    var method = ClientAuthMethod(params.tokenEndpointAuthMethod)
    if machine.provesClient {
      method = method ?? (params.clientSecret == nil ? .publicClient : .clientSecretBasic)
    }
    try chooseAuthentication(method, signer: signer)
    try requireMachineCredentials()
  }

  /// Throws if a machine identity lacks what it proves itself by, or its account could not be named. Other kinds pass.
  package func requireMachineCredentials() throws(AgentFailure) {
    guard let machine = configuration.machine else { return }
    guard Identity.canBeNamed(machine.subject(ofClient: configuration.clientID)) else {
      throw .invalidParameter(
        "/clientId", expected: "an id of 256 characters at most that is none of the agent's own words")
    }
    if case .githubApp(let installation) = machine, installation.appID != configuration.clientID {
      throw .invalidParameter("/clientId", expected: "nothing for an installation of a GitHub App")
    }
    switch machine {
    case .clientCredentials where authenticationMethod == .publicClient:
      throw .invalidParameter(
        "/clientSecret", expected: "a clientSecret or a clientKey: nothing else proves the client")
    case .jwtBearer where clientKey == nil, .githubApp where clientKey == nil:
      throw .invalidParameter("/clientKey", expected: "the private key that signs the assertions")
    case .clientCredentials, .jwtBearer, .githubApp, .tokenFile: return
    }
  }
}

extension MachineGrant {
  fileprivate init(_ wire: WireMachineGrant) throws(AgentFailure) {
    let members: [(name: String, isGiven: Bool, grants: [WireMachineGrantType])] = [
      ("subject", wire.subject != nil, [.jwtBearer]), ("audience", wire.audience != nil, [.jwtBearer]),
      ("lifetimeSeconds", wire.lifetimeSeconds != nil, [.jwtBearer]), ("appId", wire.appId != nil, [.githubApp]),
      ("installation", wire.installation != nil, [.githubApp]), ("path", wire.path != nil, [.tokenFile]),
    ]
    if let other = members.first(where: { $0.isGiven && !$0.grants.contains(wire.grant) }) {
      throw .invalidParameter("/machine/" + other.name, expected: "nothing with this `grant`")
    }
    switch wire.grant {
    case .clientCredentials: self = .clientCredentials
    case .jwtBearer:
      self = .jwtBearer(
        Assertion(
          subject: wire.subject, audience: wire.audience, lifetimeSeconds: wire.lifetimeSeconds.map { Int64($0) }))
    case .githubApp:
      guard let appID = wire.appId?.id(upTo: 128) else {
        throw .invalidParameter("/machine/appId", expected: "the app's id or client id: letters, digits and periods")
      }
      guard let number = wire.installation?.id(upTo: 32), number.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
        throw .invalidParameter("/machine/installation", expected: "the number of the installation")
      }
      self = .githubApp(Installation(appID: appID, number: number))
    case .tokenFile:
      // No platform names a file so, and the path is told as the account's subject.
      guard let path = wire.path, path.hasPrefix("/"), path.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else {
        throw .invalidParameter(
          "/machine/path", expected: "the absolute path of the file with the subject token, without control characters")
      }
      self = .tokenFile(path: path)
    }
  }
}

extension WireMachineGrant {
  package init(_ grant: MachineGrant) {
    switch grant {
    case .clientCredentials: self.init(grant: .clientCredentials)
    case .jwtBearer(let assertion):
      self.init(
        grant: .jwtBearer, subject: assertion.subject, audience: assertion.audience,
        lifetimeSeconds: assertion.lifetimeSeconds.map { Int($0) })
    case .githubApp(let installation):
      self.init(
        grant: .githubApp, appId: RawJSON(id: installation.appID), installation: RawJSON(id: installation.number))
    case .tokenFile(let path): self.init(grant: .tokenFile, path: path)
    }
  }
}

extension RawJSON {
  fileprivate init(id: String) { self.init { $0.string(id) } }

  /// A whole number, or a text of letters, digits and periods: GitHub writes ids as both. Nil for anything else.
  fileprivate func id(upTo most: Int) -> String? {
    withBytes { bytes in
      let quote = UInt8(ascii: "\"")
      let isText = bytes.count > 2 && bytes.first == quote && bytes.last == quote
      let id = isText ? bytes[1..<bytes.count - 1] : bytes[...]
      let isID = id.allSatisfy { byte in
        switch byte {
        case 0x30...0x39: true
        case 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "."): isText
        default: false
        }
      }
      return isID && id.count <= most ? String(decoding: id, as: UTF8.self) : nil
    }
  }
}

extension WireProvider {
  /// Of a machine identity: without the members that go with a person's sign-in.
  func ofMachine(_ grant: MachineGrant) -> WireProvider {
    var it = self
    it.machine = WireMachineGrant(grant)
    (it.redirect, it.refresh, it.refreshBecause, it.narrowing) = (nil, nil, nil, nil)
    it.revocationScope = nil
    return it
  }
}

extension ProviderAdd.Params {
  /// Throws for the first member that goes with OAuth, which an installation's token has nothing of.
  fileprivate func requireMembersOfInstallation() throws(AgentFailure) {
    let given = [
      ("clientId", clientId != nil), ("clientSecret", clientSecret != nil),
      ("tokenEndpointAuthMethod", tokenEndpointAuthMethod != nil), ("scopes", scopes != nil),
      ("resources", resources != nil), ("authorizationParameters", authorizationParameters != nil),
      ("dpop", dpop != nil),
    ]
    guard let (name, _) = given.first(where: \.1) else { return }
    throw .invalidParameter("/" + name, expected: "nothing for an installation of a GitHub App")
  }
}
