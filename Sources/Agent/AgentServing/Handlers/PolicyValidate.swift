internal import AgentCore
internal import AgentProtocol
internal import AgentStore
internal import JSONRPC

enum PolicyValidateHandler: MethodHandler {
  typealias Method = PolicyValidate

  static func handle(_ params: PolicyValidate.Params, _ call: Call) async throws(AgentFailure) -> PolicyValidate.Result
  {
    let document = try PolicyDocument(judging: params.policy, as: params.name)
    return PolicyValidate.Result(name: document.name, version: Int(document.version))
  }
}
