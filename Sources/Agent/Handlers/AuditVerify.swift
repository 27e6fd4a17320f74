internal import AgentCore
internal import AgentModel
internal import AgentProtocol

enum AuditVerifyHandler: MethodHandler {
  typealias Method = AuditVerify

  static func handle(_ params: AuditVerify.Params, _ call: Call) async throws(RPCError) -> AuditVerify.Result {
    let registry = call.agent.registry
    _ = try await registry.auditedAccount(params.account)
    while true {
      let chain = try await registry.auditChain().chain
      var walk = AuditWalk(chain)
      var position = chain.first - 1
      while position < chain.last, walk.isIntact {
        let (walked, rows) = try await registry.auditWalk(walk, after: position, through: chain.last)
        walk = walked
        if rows == 0 { break }
        position += Int64(rows)
      }
      walk.finish()
      // Entries were written meanwhile, and the oldest may have gone: then it is walked again.
      let (now, isLonger) = try await registry.auditChain()
      guard now.first == chain.first else { continue }
      let firstBroken = walk.firstBroken ?? (isLonger ? now.last + 1 : nil)
      return AuditVerify.Result(
        intact: firstBroken == nil, entries: Int(walk.checked), head: Base64URL.encode(chain.link),
        firstBroken: firstBroken.map { Int($0) })
    }
  }
}
