internal import Agent
internal import AgentCore
internal import AgentModel
internal import AgentPermissions
internal import AgentProtocol
internal import AgentRecords
internal import AgentStore

enum GrantCreateHandler: MethodHandler {
  typealias Method = GrantCreate

  static func handle(_ params: GrantCreate.Params, _ call: Call) async throws(AgentFailure) -> GrantCreate.Result {
    let isForAgent = params.agent ?? false || call.limits?.permission.isForAgent == true
    var patterns: [MethodPattern] = []
    for (index, text) in params.methods.enumerated() {
      // A name that nothing has is a typing error, and a grant that does not work is found out too late.
      guard let pattern = MethodPattern(text),
        ServedMethods.grantable.contains(where: { pattern.covers($0.name, mustBeNamed: $0.mustBeNamed) })
      else {
        throw .invalidParameter(
          "/methods/\(index)", expected: "a method that grants may name, a name space as token.*, or *")
      }
      guard !isForAgent || !Permission.methodsOfPeople.contains(text) else {
        throw .invalidParameter("/methods/\(index)", expected: "a method that an AI agent may have")
      }
      if !patterns.contains(pattern) { patterns.append(pattern) }
    }
    var origins: [String]?
    if let wanted = params.origins {
      origins = []
      for (index, text) in wanted.enumerated() {
        guard let origin = RequestTarget.origin(text) else {
          throw .invalidParameter(
            "/origins/\(index)", expected: "an origin, such as https://api.example, without a path")
        }
        origins?.append(origin)
      }
    }
    var passOrigins: Set<String>?
    for (index, text) in (params.passOrigins ?? []).enumerated() {
      guard let origin = PassedOrigins.normal(text) else {
        throw .invalidParameter(
          "/passOrigins/\(index)", expected: "an origin, such as https://pypi.example, without a path; or *")
      }
      passOrigins = (passOrigins ?? []).union([origin])
    }
    var request = CallerGrantRequest(
      client: params.client,
      accounts: try params.accounts.map { selector throws(AgentFailure) in try call.pinned(selector) },
      patterns: patterns)
    (request.scopes, request.resources) = (params.scopes, params.resources)
    request.detailTypes = params.authorizationDetailTypes
    request.origins = origins
    request.passOrigins = passOrigins.map { PassedOrigins($0).texts }
    request.capabilities = params.capabilities
    request.isForAgent = isForAgent
    request.lifetime = params.expiresInSeconds.map { .seconds(Int64($0)) }
    request.maker = call.limits
    let (grant, secret) = try await call.agent.vault.commit { [request] vault throws(AgentFailure) in
      try vault.callerGrants.create(request)
    }
    return GrantCreate.Result(
      grant: grant.name, secret: secret, client: grant.client, accounts: grant.accounts,
      methods: grant.patterns.map(\.text), scopes: grant.scopes, resources: grant.resources,
      origins: grant.origins, passOrigins: grant.passOrigins.isEmpty ? nil : grant.passOrigins,
      authorizationDetailTypes: grant.detailTypes,
      capabilities: grant.capabilities.flatMap { $0.isEmpty ? nil : $0 },
      agent: grant.isForAgent ? true : nil, createdAt: call.agent.time.wall(grant.createdAt),
      expiresAt: call.agent.time.wall(grant.expiresAt, of: grant.createdAt))
  }
}

extension TimeKeeper {
  /// The end of what began at `start`: both are by the wall clock as it is set now.
  fileprivate func wall(_ end: Timestamp?, of start: TrustedInstant) -> Timestamp? {
    end.map { wall(start, later: $0 - start.time) }
  }
}

/// Lists the valid grants; a limited caller sees those created under its own grants.
enum GrantListHandler: MethodHandler {
  typealias Method = GrantList

  static func handle(_ params: GrantList.Params, _ call: Call) async throws(AgentFailure) -> GrantList.Result {
    let grants = try await call.agent.vault.read { vault throws(AgentFailure) in
      vault.callerGrants.grants(madeBy: call.limits)
    }
    return GrantList.Result(
      grants: grants.map {
        WireGrant($0, additions: call.agent.callerGrants.additions(of: $0), time: call.agent.time)
      })
  }
}

extension WireGrant {
  /// `additions`: those that still count.
  init(_ grant: CallerGrant, additions: [CallerGrant.Addition], time: TimeKeeper) {
    self.init(
      grant: grant.name, client: grant.client, accounts: grant.accounts, methods: grant.patterns.map(\.text),
      scopes: grant.scopes, resources: grant.resources,
      origins: grant.origins, passOrigins: grant.passOrigins.isEmpty ? nil : grant.passOrigins,
      authorizationDetailTypes: grant.detailTypes,
      capabilities: grant.capabilities.flatMap { $0.isEmpty ? nil : $0 },
      agent: grant.isForAgent ? true : nil,
      additions: additions.isEmpty ? nil : additions.map { WireGrantAddition($0, time) },
      createdAt: time.wall(grant.createdAt), expiresAt: time.wall(grant.expiresAt, of: grant.createdAt))
  }
}

extension WireGrantAddition {
  fileprivate init(_ addition: CallerGrant.Addition, _ time: TimeKeeper) {
    self.init(
      origins: addition.content.origins.sorted(), methods: addition.content.methods,
      capabilities: addition.content.capabilities.sorted(), addedAt: time.wall(addition.addedAt),
      expiresAt: time.wall(addition.expiresAt, of: addition.addedAt))
  }
}

enum GrantRevokeHandler: MethodHandler {
  typealias Method = GrantRevoke

  static func handle(_ params: GrantRevoke.Params, _ call: Call) async throws(AgentFailure) -> GrantRevoke.Result {
    try await call.agent.grantRevocations.revoke(params.grant, by: call.limits)
    return GrantRevoke.Result(grant: params.grant)
  }
}
