internal import AgentCore
internal import AgentModel
internal import AgentStore

extension RequestVerdict {
  /// The permit. Throws 1007, 4001 or 4002 where the request is not allowed.
  func permit(of account: AccountID, isRead: Bool) throws(AgentFailure) -> RequestPermit {
    switch self {
    case .allowed(let permit): return permit
    case .notCovered: throw .caller(.notCovered)
    case .unapproved: throw .unapproved(.notApproved, account)
    case .denied(let told, let all):
      let denials = all.filter { !$0.decision.allows(isRead: isRead) }
      if denials.contains(where: { $0.decision.reason == .signedOut }) { throw .signedOut(account) }
      // A step-up helps only if nothing else is missing.
      if let other = denials.first(where: { !$0.decision.lacksStepUpAlone }) { throw .denied(other) }
      throw .stepUpWanted(told)
    }
  }

  /// The capabilities that lack a person's confirmation, and nothing else is missing for the request; else none.
  func unconfirmed(isRead: Bool) -> [String] {
    guard case .denied(_, let all) = self else { return [] }
    let denials = all.map(\.decision).filter { !$0.allows(isRead: isRead) }
    return denials.allSatisfy { $0.lacksOnly(.pinentry) } ? denials.map(\.capability) : []
  }
}

extension Decision {
  fileprivate var lacksStepUpAlone: Bool { !failed.isEmpty && failed.allSatisfy { $0.reason == .stepUpRequired } }
}
