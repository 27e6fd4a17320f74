internal import Agent
internal import AgentCore
internal import AgentDecisions
internal import AgentModel
internal import AgentOAuth
internal import AgentPermissions
internal import AgentProtocol
internal import AgentRecords
internal import AgentStore
internal import AgentWire
internal import JSONRPC

enum PolicyGetHandler: MethodHandler {
  typealias Method = PolicyGet

  static func handle(_ params: PolicyGet.Params, _ call: Call) async throws(AgentFailure) -> PolicyGet.Result {
    await call.agent.lookAgain()
    let policy = try await call.agent.vault.read { vault throws(AgentFailure) in
      try vault.policies.policy(named: params.name)
    }
    return PolicyGet.Result(
      name: policy.name, version: Int(policy.version), policy: policy.document, source: policy.source?.text)
  }
}

enum PolicySetHandler: MethodHandler {
  typealias Method = PolicySet

  static func handle(_ params: PolicySet.Params, _ call: Call) async throws(AgentFailure) -> PolicySet.Result {
    await call.agent.lookAgain()
    let document = try PolicyDocument(judging: params.policy, as: params.name)
    let previous = try await call.agent.vault.commit { vault throws(AgentFailure) in
      try vault.policies.set(document, as: params.policy)
    }
    call.agent.events.publish(.policyChanged(name: document.name, version: document.version))
    return PolicySet.Result(
      name: document.name, version: Int(document.version), previousVersion: previous.map { Int($0) })
  }
}

extension PolicyDocument {
  /// Reads a client's document; `policyInvalid` lists all its problems.
  init(judging document: RawJSON, as name: String?) throws(AgentFailure) {
    do throws(PolicyProblems) {
      self = try PolicyDocument(parsing: document.withBytes { [UInt8]($0) }, expectedName: name)
    } catch {
      throw .policyInvalid(error)
    }
  }
}

enum PolicyValidateHandler: MethodHandler {
  typealias Method = PolicyValidate

  static func handle(_ params: PolicyValidate.Params, _ call: Call) async throws(AgentFailure) -> PolicyValidate.Result
  {
    let document = try PolicyDocument(judging: params.policy, as: params.name)
    return PolicyValidate.Result(name: document.name, version: Int(document.version))
  }
}

enum PolicyListHandler: MethodHandler {
  typealias Method = PolicyList

  static func handle(_ params: PolicyList.Params, _ call: Call) async throws(AgentFailure) -> PolicyList.Result {
    await call.agent.lookAgain()
    let policies = try await call.agent.vault.read { vault throws(AgentFailure) in try vault.policies.inForce() }
    return PolicyList.Result(
      policies: policies.map {
        WirePolicyReference(name: $0.name, version: Int($0.version), source: $0.source?.text)
      })
  }
}

enum PolicyDraftHandler: MethodHandler {
  typealias Method = PolicyDraft

  static func handle(_ params: PolicyDraft.Params, _ call: Call) async throws(AgentFailure) -> PolicyDraft.Result {
    await call.agent.lookAgain()
    let (provider, replaced) = try await call.agent.vault.read { vault throws(AgentFailure) in
      (
        vault.providers.sorted(within: call.limits).first { $0.configuration.name == params.provider },
        try vault.policies.inForce().first { $0.name == params.provider.text }?.version
      )
    }
    let entry = try entry(of: provider, named: params.provider)
    do throws(DraftedPolicy.Refusal) {
      let policy = try DraftedPolicy(
        entry, named: params.provider.text, replacing: replaced, allow: params.allow, confirm: params.confirm ?? [],
        perHour: params.perHour.map(Int64.init))
      return PolicyDraft.Result(policy: policy.document)
    } catch {
      throw failure(error, entry)
    }
  }

  /// What the catalogue says of a configured provider, or of the preset with this name.
  private static func entry(
    of provider: Provider?, named name: ProviderName
  ) throws(AgentFailure) -> CatalogueEntry {
    guard let provider else {
      guard let entry = CatalogueEntry.named(name.text) else { throw .providerNotFound }
      guard !entry.needsOrigin else {
        throw .invalidParameter("/provider", expected: "a provider that was added, since each customer has a host")
      }
      return entry
    }
    guard let preset = provider.preset, let entry = preset.catalogue else {
      throw .invalidParameter("/provider", expected: "a provider with a preset")
    }
    let configuration = provider.configuration
    let words = preset.issuerTemplate.flatMap { IssuerTemplate($0).words(of: configuration.issuer) }
    guard let own = words.flatMap(entry.filled(with:)) ?? entry.filled(at: configuration.allowedOrigins) else {
      throw .invalidParameter("/provider", expected: "a provider whose origins are those of its preset")
    }
    return own.served(by: configuration)
  }

  private static func failure(_ refusal: DraftedPolicy.Refusal, _ entry: CatalogueEntry) -> AgentFailure {
    let names = "read, write, delete, or an operation such as \(entry.operations.first?.name ?? "")"
    return switch refusal {
    case .noOperations: .invalidParameter("/provider", expected: "a service whose operations are known")
    case .unknownAllowed(let index): .invalidParameter("/allow/\(index)", expected: names)
    case .unknownConfirmed(let index): .invalidParameter("/confirm/\(index)", expected: names)
    case .budget: .invalidParameter("/perHour", expected: "a number from 1 to 1000000")
    }
  }
}

enum PolicyExplainHandler: MethodHandler {
  typealias Method = PolicyExplain

  static func handle(_ params: PolicyExplain.Params, _ call: Call) async throws(AgentFailure) -> WireDecision {
    await call.agent.lookAgain()
    return WireDecision(
      try await call.agent.decisions.explain(
        params.account, params.capability, at: params.at, assuming: params.assume.map { PolicyAssumption($0) },
        within: call.scopeLimit))
  }
}

enum PolicyRefreshHandler: MethodHandler {
  typealias Method = PolicyRefresh

  static func handle(_ params: PolicyRefresh.Params, _ call: Call) async throws(AgentFailure) -> PolicyRefresh.Result {
    try await call.agent.policySource.refresh()
    return PolicyRefresh.Result(policySource: await call.agent.policySource.status().map { WirePolicySource($0) })
  }
}
