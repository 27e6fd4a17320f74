import CommandSupport
import JSONRPC
import Synchronization

/// Connections to the agent for many threads: each call has one for itself.
final class AgentPool: Sendable {
  private let mayStart: Bool
  private let idle = Mutex<[Kept]>([])
  /// More idle connections are closed.
  private static let mostIdle = 8

  /// One thread has it at a time.
  private final class Kept: @unchecked Sendable {
    var connection: AgentConnection
    init(_ connection: consuming AgentConnection) { self.connection = connection }
  }

  init(mayStart: Bool) { self.mayStart = mayStart }

  /// Calls a method on a kept connection, or on a new one. A call on a connection that turns out to be closed is made again on a
  /// new one, and the agent is started if none runs.
  func call<Result>(
    _ method: String, params: (inout JSONWriter) -> Void, result: (JSONNode) throws(CommandFailure) -> Result
  ) throws(CommandFailure) -> Result {
    if let kept = idle.withLock({ $0.popLast() }) {
      do throws(CommandFailure) {
        return try call(method, on: kept, params: params, result: result)
      } catch {
        guard error.name == "wentAway" else { throw error }
        // Its fellows have ended with the same agent.
        idle.withLock { $0 = [] }
      }
    }
    do throws(CommandFailure) {
      return try call(method, on: Kept(Agent.connect(mayStart: mayStart)), params: params, result: result)
    } catch {
      guard error.name == "wentAway" else { throw error }
      return try call(method, on: Kept(Agent.connect(mayStart: mayStart)), params: params, result: result)
    }
  }

  private func call<Result>(
    _ method: String, on kept: Kept, params: (inout JSONWriter) -> Void,
    result: (JSONNode) throws(CommandFailure) -> Result
  ) throws(CommandFailure) -> Result {
    do throws(CommandFailure) {
      let value = try kept.connection.call(method, params: params, result: result)
      keep(kept)
      return value
    } catch {
      // An error that the agent sent leaves the connection in order.
      if error.wire != nil { keep(kept) }
      throw error
    }
  }

  private func keep(_ kept: Kept) {
    idle.withLock { if $0.count < Self.mostIdle { $0.append(kept) } }
  }
}
