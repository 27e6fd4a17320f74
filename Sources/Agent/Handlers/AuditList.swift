internal import AgentModel
internal import AgentProtocol

enum AuditListHandler: MethodHandler {
  typealias Method = AuditList

  static func handle(_ params: AuditList.Params, _ call: Call) async throws(RPCError) -> AuditList.Result {
    let registry = call.agent.registry
    let account = try await registry.auditedAccount(params.account)
    let page = try await registry.auditPage(
      after: Int64(params.after ?? 0), limit: params.limit, of: account)
    return AuditList.Result(entries: page.entries, next: page.next.map { Int($0) })
  }
}

extension Registry {
  /// Whose entries are asked for. An account that was forgotten still has some: its id is enough.
  func auditedAccount(_ selector: AccountSelector?) throws(RPCError) -> AccountID? {
    switch selector {
    case nil: return nil
    case .id(let id)?: return id
    case let selector?: return try profile(selector).id
    }
  }
}
