/// Performs `body`, and cancels it when the limit is over.
///
/// - Throws: what `body` throws, or `callTimeout`.
func withDeadline<Result: Sendable>(
  _ limit: Duration?, _ message: String = "the agent did not answer in time",
  _ body: @escaping @Sendable () async throws -> Result
) async throws -> Result {
  guard let limit else { return try await body() }
  return try await withThrowingTaskGroup(of: Result.self) { group in
    group.addTask { try await body() }
    group.addTask {
      try await Task.sleep(for: limit)
      throw LanyardError(.callTimeout, message)
    }
    defer { group.cancelAll() }
    guard let first = try await group.next() else { throw CancellationError() }
    return first
  }
}
