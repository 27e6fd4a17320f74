internal import Agent
internal import AgentCore
internal import AgentModel
internal import AgentProtocol
internal import AgentRecords
internal import AgentSessions
internal import AgentStore

enum TokenProofHandler: MethodHandler {
  typealias Method = TokenProof

  static func handle(_ params: TokenProof.Params, _ call: Call) async throws(AgentFailure) -> TokenProof.Result {
    // The fragment is no part of a request (RFC 9110 §4.2.5).
    guard let url = HTTPURL(String(params.url.prefix { $0 != "#" })), url.scheme == .https || url.isLoopback else {
      throw .invalidParameter(
        "/url", expected: "an https URL without user information; http only on a loopback host")
    }
    guard RequestMachine.canSend(params.method) else {
      throw .invalidParameter("/method", expected: RequestMachine.expectedMethod)
    }
    let account = try await call.agent.accounts.actor(params.account)
    let request = ProofRequest(
      method: params.method, url: url, fingerprint: params.fingerprint, nonce: params.nonce,
      permission: call.limits?.permission)
    let (proof, thumbprint) = try await account.proof(for: request)
    return TokenProof.Result(proof: proof, thumbprint: thumbprint, account: account.id)
  }
}
