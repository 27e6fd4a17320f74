internal import Agent
internal import AgentCore
internal import AgentModel
internal import AgentPorts
internal import AgentProtocol
internal import AgentRecords
internal import AgentSessions
internal import AgentStore
internal import AgentWire

/// Checks every request before its handler runs, and filters every answer.
extension CallerAccess {
  /// Lets a request in; the account that it is about is nil for methods that name none, and for callers that nothing
  /// limits. What is judged here is what is served: the handler gets the id, and not the word that led to it.
  func admit(
    _ method: MethodInfo, _ selector: AccountSelector?, _ agent: AgentService
  ) throws(AgentFailure) -> AccountID? {
    switch self {
    case .trusted: return nil
    case .refused: throw .caller(.grantRefused)
    case .unknown, .unopened:
      guard method.underGrant == .always else { throw .caller(.grantNeeded) }
      return nil
    case .limited(let limits):
      guard limits.areOpen(at: agent.environment.clock.boot()) else { throw .caller(.grantRefused) }
      guard method.underGrant == .always || limits.permission.methods.contains(method.name) else {
        throw .caller(.notCovered)
      }
      return try selector.map { (selector) throws(AgentFailure) in try limits.account(selector, agent.tokenCache) }
    }
  }

  /// The error that the caller gets: nothing of an account that is not its own, not even that the account exists.
  func redacted(_ error: RPCError, at now: BootInstant) -> RPCError {
    guard case .limited(let limits) = self else { return error }
    let notCovered = RPCError(AgentFailure.caller(.notCovered))
    guard limits.areOpen(at: now) else {
      // A caller still learns of its own request whether it may have been carried out.
      return RPCError(AgentFailure.caller(.grantRefused)).with { refused in
        refused.details = error.details.filter { $0.name == "outcome" }
      }
    }
    if error.kind == .accountNotFound { return notCovered }
    if let account = error.account, !covers(account) { return notCovered }
    var redacted = error
    redacted.details = error.details.compactMap { name, value in
      guard case .texts(let texts) = value else { return (name, value) }
      let known = texts.filter { AccountID($0).map(covers) ?? true }
      return known.isEmpty && !texts.isEmpty ? nil : (name, .texts(known))
    }
    return error.kind == .accountAmbiguous && redacted.details.isEmpty ? notCovered : redacted
  }
}
