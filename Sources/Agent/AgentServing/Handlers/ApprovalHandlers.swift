internal import Agent
internal import AgentCore
internal import AgentDecisions
internal import AgentModel
internal import AgentPermissions
internal import AgentProtocol
internal import AgentRecords
internal import AgentStore

enum ApprovalListHandler: MethodHandler {
  typealias Method = ApprovalList

  static func handle(_ params: ApprovalList.Params, _ call: Call) async throws(AgentFailure) -> ApprovalList.Result {
    try call.requireOpenVault()
    return ApprovalList.Result(approvals: call.agent.approvals.all.map { WireApproval($0) })
  }
}

enum ApprovalDecideHandler: MethodHandler {
  typealias Method = ApprovalDecide

  static func handle(_ params: ApprovalDecide.Params, _ call: Call) async throws(AgentFailure) -> ApprovalDecide.Result
  {
    try call.requireOpenVault()
    let account = try await call.agent.decisions.decide(
      approval: params.approval, ApprovalMachine.Verdict(params.verdict))
    return ApprovalDecide.Result(approval: params.approval, verdict: params.verdict, account: account)
  }
}

enum AccessRequestHandler: MethodHandler {
  typealias Method = AccessRequest

  static func handle(_ params: AccessRequest.Params, _ call: Call) async throws(AgentFailure) -> AccessRequest.Result {
    guard let limits = call.limits else { throw .caller(.noGrant) }
    try call.requireOpenVault()
    let (methods, capabilities) = (params.methods ?? [], params.capabilities ?? [])
    guard !(params.origins.isEmpty && methods.isEmpty && capabilities.isEmpty) else {
      throw .invalidParameter("/origins", expected: "an origin, where no method and no capability is asked for")
    }
    var origins: [String] = []
    for (index, text) in params.origins.enumerated() {
      guard let origin = RequestTarget.origin(text) else {
        throw .invalidParameter("/origins/\(index)", expected: "an origin, such as https://api.example, without a path")
      }
      origins.append(origin)
    }
    for (index, text) in methods.enumerated() where !isGrantable(text, limits) {
      throw .invalidParameter(
        "/methods/\(index)",
        expected: "a method of requests such as POST, or a method of the agent that grants cover, by its name")
    }
    let addition = PermissionAddition(origins: origins, methods: methods, capabilities: capabilities)
    let answer = try await call.agent.access.ask(addition, because: params.reason, for: limits)
    let status: WireAccessStatus =
      switch answer.status {
      case .waiting: .waiting
      case .allowed: .allowed
      case .denied: .denied
      }
    return AccessRequest.Result(request: answer.request, status: status)
  }

  private static func isGrantable(_ method: String, _ limits: EffectiveGrant) -> Bool {
    if PermissionAddition.isRequestMethod(method) { return RequestMachine.canAuthorize(method) }
    // What concerns the agent as a whole a person grants by hand.
    return ServedMethods.grantable.contains { $0.name == method && !$0.mustBeNamed }
      && !(limits.permission.isForAgent && Permission.methodsOfPeople.contains(method))
  }
}

enum AccessListHandler: MethodHandler {
  typealias Method = AccessList

  static func handle(_ params: AccessList.Params, _ call: Call) async throws(AgentFailure) -> AccessList.Result {
    try call.requireOpenVault()
    return AccessList.Result(requests: call.agent.access.all.map { WireAccessRequest($0) })
  }
}

enum AccessDecideHandler: MethodHandler {
  typealias Method = AccessDecide

  static func handle(_ params: AccessDecide.Params, _ call: Call) async throws(AgentFailure) -> AccessDecide.Result {
    try call.requireOpenVault()
    let allows = params.verdict == .allow
    let until = try await call.agent.access.decide(
      params.request, allows: allows, for: params.expiresInSeconds.map { .seconds(Int64($0)) })
    return AccessDecide.Result(request: params.request, status: allows ? .allowed : .denied, expiresAt: until)
  }
}

extension Call {
  /// What waits tells of accounts, and is kept in memory while the vault is locked.
  fileprivate func requireOpenVault() throws(AgentFailure) {
    guard agent.tokenCache.isOpen else { throw .locked }
  }
}
