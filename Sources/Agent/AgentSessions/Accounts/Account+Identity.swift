internal import AgentCore
package import AgentModel
internal import AgentPorts
internal import AgentRecords
package import AgentStore

/// The requests of callers for an ID token.
extension Account {
  /// Returns the ID token from memory, or after the one exchange that all callers share.
  package func idToken(
    minimumLifetime: Milliseconds, patience: Milliseconds? = nil
  ) async throws(AgentFailure) -> IDTokenAnswer {
    try await load()
    try requirePerson()
    let request = IDTokenRequest(minimumLifetime: minimumLifetime)
    let answer = try await withDeadline(at: patience.map { clock.boot() + $0 }, clock: clock) {
      () async throws(AgentFailure) in try await request.answer(from: self)
    }
    if let answer { return answer }
    let failure = AgentFailure.token(.noAnswer(.stillWaiting), id)
    guard let living = request.answer(after: failure, from: self) else { throw failure }
    return living
  }
}
