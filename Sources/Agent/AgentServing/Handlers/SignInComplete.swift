internal import Agent
internal import AgentProtocol
internal import AgentRecords
internal import AgentSessions
internal import AgentStore

enum SignInCompleteHandler: MethodHandler {
  typealias Method = SignInComplete

  static func handle(_ params: SignInComplete.Params, _ call: Call) async throws(AgentFailure) -> SignInComplete.Result
  {
    let agent = call.agent
    // The work is the agent's: a caller that goes away must not lose what the provider has issued.
    let status = try await agent.background.finish { () async throws(AgentFailure) in
      try await agent.signIns.complete(params.signIn, with: params.redirectUrl)
    }
    return try WireSignInProgress(params.signIn, status)
  }
}

extension WireSignInProgress {
  /// Throws the failure of a sign-in to the caller that asks about it.
  init(_ id: String, _ status: SignInJob.Status) throws(AgentFailure) {
    switch status {
    case .pending: self.init(signIn: id, status: .pending)
    case .completed(let account): self.init(signIn: id, status: .completed, account: account)
    case .failed(let error): throw error
    }
  }
}
