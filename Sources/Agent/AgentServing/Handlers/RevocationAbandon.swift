internal import AgentProtocol

enum RevocationAbandonHandler: MethodHandler {
  typealias Method = RevocationAbandon

  static func handle(
    _ params: RevocationAbandon.Params, _ call: Call
  ) async throws(AgentFailure) -> RevocationAbandon.Result {
    guard
      let entry = try await call.agent.vault.outbox(within: call.limits).first(where: { $0.name == params.revocation })
    else {
      throw .notFound(.revocation)
    }
    try await call.agent.revocations.abandon(entry)
    return RevocationAbandon.Result(revocation: params.revocation)
  }
}
