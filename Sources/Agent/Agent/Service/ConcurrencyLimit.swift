package import AgentStore
internal import Synchronization

/// Bounds work that a caller begins and a server outside can draw out: each holds a connection and its memory.
package final class ConcurrencyLimit: Sendable {
  private let most: Int
  private let name: String
  private let running = Mutex(0)

  /// `name`: the work, in the text of the refusal.
  init(most: Int, of name: String) {
    self.most = most
    self.name = name
  }

  /// Throws `.overloaded` where `most` run already.
  package func run<Result>(
    _ work: () async throws(AgentFailure) -> Result
  ) async throws(AgentFailure) -> Result {
    let mayRun = running.withLock { running in
      guard running < most else { return false }
      running += 1
      return true
    }
    guard mayRun else { throw .overloaded(name) }
    defer { running.withLock { $0 -= 1 } }
    return try await work()
  }
}
