package import AgentModel
package import AgentPorts
package import AgentStore

/// Runs `body` for at most the seconds that a request allows; nil if they ran out, after `body` was cancelled and has
/// returned. What an account does goes on: only the caller stops waiting.
package func withDeadline<Success: Sendable>(
  seconds: Int?, clock: any AgentClock, _ body: @escaping @Sendable () async throws(AgentFailure) -> Success
) async throws(AgentFailure) -> Success? {
  try await withDeadline(at: seconds.map { clock.boot() + .seconds(Int64($0)) }, clock: clock, body)
}

/// Runs `body` until `deadline` at most; nil and the rest as above.
package func withDeadline<Success: Sendable>(
  at deadline: BootInstant?, clock: any AgentClock, _ body: @escaping @Sendable () async throws(AgentFailure) -> Success
) async throws(AgentFailure) -> Success? {
  guard let deadline else { return try await body() }
  let first = await withTaskGroup(of: Result<Success, AgentFailure>?.self) { group in
    group.addTask {
      do throws(AgentFailure) {
        return .success(try await body())
      } catch {
        return .failure(error)
      }
    }
    group.addTask {
      await clock.sleep(until: deadline)
      return nil
    }
    let first = await group.next() ?? nil
    group.cancelAll()
    // A result that came in the same moment as the deadline is better than none.
    if first == nil, let late = await group.next() ?? nil, case .success = late { return Optional(late) }
    return first
  }
  if first == nil, Task.isCancelled { throw .cancelled }
  return try first?.get()
}

/// The shortest wait of a caller: what is stored is read and answered within it.
private let leastTimeout = Milliseconds(100)

/// Runs `body` for at most the `timeoutSeconds` of a request; nil and the rest as above. With 0 the caller still gets what
/// is there and needs no provider.
package func withTimeout<Success: Sendable>(
  seconds: Int?, clock: any AgentClock, _ body: @escaping @Sendable () async throws(AgentFailure) -> Success
) async throws(AgentFailure) -> Success? {
  try await withDeadline(
    at: seconds.map { clock.boot() + max(.seconds(Int64($0)), leastTimeout) }, clock: clock, body)
}
