internal import Agent
internal import AgentCore
internal import AgentModel
internal import AgentOAuth
internal import AgentProtocol
internal import AgentRecords
internal import AgentStore

enum PolicyDraftHandler: MethodHandler {
  typealias Method = PolicyDraft

  static func handle(_ params: PolicyDraft.Params, _ call: Call) async throws(AgentFailure) -> PolicyDraft.Result {
    await call.agent.lookAgain()
    let provider = try await call.agent.vault.read { vault throws(AgentFailure) in
      vault.providers.sorted(within: call.limits).first { $0.configuration.name == params.provider }
    }
    let entry = try entry(of: provider, named: params.provider)
    do throws(DraftedPolicy.Refusal) {
      let policy = try DraftedPolicy(
        entry, named: params.provider.text, allow: params.allow, confirm: params.confirm ?? [],
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
    return own
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
