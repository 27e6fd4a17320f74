internal import CommandSupport
internal import JSONRPC
internal import Synchronization

/// One kept connection to the agent, which all requests share: its answers take microseconds.
final class AgentLink: Sendable {
  private struct Kept: ~Copyable {
    var connection: AgentConnection?
  }
  private let kept = Mutex(Kept())
  private let mayStart: Bool

  init(mayStart: Bool) { self.mayStart = mayStart }

  /// Calls a method. A call that changes nothing is repeated once on a new connection, where the agent has ended since.
  func call<Result>(
    _ method: String, isRepeatable: Bool = true, params: (inout JSONWriter) -> Void,
    result: (JSONNode) throws(CommandFailure) -> Result
  ) throws(CommandFailure) -> Result {
    try kept.withLock { (kept) throws(CommandFailure) -> Result in
      let isFresh = kept.connection == nil
      do throws(CommandFailure) {
        return try call(method, on: &kept, params, result)
      } catch {
        guard Self.isOver(error) else { throw error }
        kept.connection = nil
        guard isRepeatable || !isFresh && error.name == "shuttingDown" else { throw error }
        return try call(method, on: &kept, params, result)
      }
    }
  }

  private func call<Result>(
    _ method: String, on kept: inout Kept, _ params: (inout JSONWriter) -> Void,
    _ result: (JSONNode) throws(CommandFailure) -> Result
  ) throws(CommandFailure) -> Result {
    if kept.connection == nil { kept.connection = try Agent.connect(mayStart: mayStart) }
    return try kept.connection!.call(method, params: params, result: result)
  }

  private static func isOver(_ failure: CommandFailure) -> Bool {
    failure.name == "wentAway" || failure.name == "shuttingDown"
  }
}
