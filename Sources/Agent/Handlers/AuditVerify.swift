internal import AgentCore
internal import AgentModel
internal import AgentProtocol

enum AuditVerifyHandler: MethodHandler {
  typealias Method = AuditVerify

  static func handle(_ params: AuditVerify.Params, _ call: Call) async throws(RPCError) -> AuditVerify.Result {
    let registry = call.agent.registry
    _ = try await registry.auditedAccount(params.account.map(call.pinned))
    while true {
      let chain = try await registry.auditChain().chain
      var walk = AuditWalk(chain)
      // From before the first one: what went when the log was full must not stand there again.
      var position: Int64? = 0
      while let after = position, walk.isIntact {
        (walk, position) = try await registry.auditWalk(walk, after: after, through: chain.last)
      }
      walk.finish()
      let (now, isLonger) = try await registry.auditChain()
      // What is missing may have gone meanwhile because the log was full: then it is walked again.
      guard walk.isIntact || now.first == chain.first else { continue }
      let firstBroken = walk.firstBroken ?? (isLonger ? now.last + 1 : nil)
      return AuditVerify.Result(
        intact: firstBroken == nil, entries: count(walk.checked, from: chain.first, params),
        head: Base64URL.encode(chain.link),
        firstBroken: firstBroken.map { Int($0) })
    }
  }

  /// Of so many entries in a row, those that were asked for.
  private static func count(_ checked: Int64, from first: Int64, _ params: AuditVerify.Params) -> Int {
    let skipped = max(0, Int64(params.after ?? 0) - (first - 1))
    return Int(min(max(0, checked - skipped), params.limit.map { Int64($0) } ?? checked))
  }
}
