internal import Agent
internal import AgentProtocol
internal import AgentStore

enum AgentHelloHandler: OrderedMethodHandler {
  typealias Method = AgentHello

  static func handle(_ params: AgentHello.Params, _ call: Call) throws(AgentFailure) -> AgentHello.Result {
    // First: a client that asks to be limited is limited, also if the rest of this hello is wrong.
    if let grant = params.grant { try call.client.present(grant) }
    if let wanted = params.`protocol`, wanted != AgentContract.protocolVersion {
      throw .unsupportedProtocol(supported: AgentContract.protocolVersion)
    }
    call.client.name = params.client.name
    return AgentHello.Result(
      agent: WireAgentIdentity(name: "lanyard-agent", version: call.agent.version),
      protocol: AgentContract.protocolVersion, instance: call.agent.instance, schemaDigest: AgentContract.schemaDigest,
      features: ServedMethods.features,
      limits: WireAgentLimits(
        lineBytes: Limits.lineBytes, bodyLineBytes: Limits.bodyLineBytes, nesting: Limits.nesting,
        requestsInFlight: call.server.limits.requestsInFlight, connections: call.server.limits.connections,
        lineSeconds: Int(Limits.lineSeconds), eventBacklogBytes: Limits.eventBacklogBytes))
  }
}

extension ServedMethods {
  /// The groups of methods that are served as a whole, so that a client may rely on every method of a listed feature.
  static let features: [String] = {
    var whole: [String: Bool] = [:]
    for info in MethodTable.all { whole[info.feature] = (whole[info.feature] ?? true) && all[info.name] != nil }
    // Of a group that is served only in part, list the served methods; later releases may add the others.
    let single = MethodTable.all.filter { whole[$0.feature] == false && all[$0.name] != nil }.map(\.name)
    return (whole.filter(\.value).map(\.key) + single + ["signIn.browser", "signIn.device"]).sorted()
  }()
}
