internal import AgentProtocol
internal import AgentStore
internal import JSONRPC

enum RpcDiscoverHandler: MethodHandler {
  typealias Method = RpcDiscover

  static func handle(_ params: RpcDiscover.Params, _ call: Call) async throws(AgentFailure) -> RpcDiscover.Result {
    RawJSON(OpenRPCDocument.text)
  }
}
