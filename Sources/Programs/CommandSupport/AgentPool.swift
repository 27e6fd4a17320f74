public import JSONRPC
internal import Synchronization

/// Connections to the agent for many threads: each call has one for itself.
public final class AgentPool: Sendable {
  private let mayStart: Bool
  private let idle = Mutex<[Kept]>([])
  /// More idle connections are closed.
  private static let mostIdle = 8
  /// An agent that says nothing for so long after its time hangs.
  private static let graceSeconds = 10

  /// One thread has it at a time.
  private final class Kept: @unchecked Sendable {
    var connection: AgentConnection
    init(_ connection: consuming AgentConnection) { self.connection = connection }
  }

  /// - Parameter mayStart: an agent is started if none runs.
  public init(mayStart: Bool) { self.mayStart = mayStart }

  /// Calls a method on a kept connection, or on a new one.
  ///
  /// - Parameters:
  ///   - isRepeatable: a call whose connection closed before the answer is made again on a new one.
  ///   - patienceSeconds: how long the agent may take.
  ///   - watch: what else the call heeds while it waits. At its end the agent is told that the request is withdrawn, and the
  ///     connection is closed.
  @discardableResult
  public func call<Result>(
    _ method: String, isRepeatable: Bool = true, patienceSeconds: Int = 120, watch: CallWatch = CallWatch(),
    params: (inout JSONWriter) -> Void = { _ in }, result: (JSONNode) throws(CommandFailure) -> Result
  ) throws(CommandFailure) -> Result {
    let patience = Int32(clamping: (patienceSeconds + Self.graceSeconds) * 1000)
    var tries = 0
    while true {
      do throws(CommandFailure) {
        let kept = try connection()
        kept.connection.watch = watch
        return try call(method, on: kept, patience, params: params, result: result)
      } catch {
        // An agent that is ending takes no request.
        guard error.name == "wentAway" && isRepeatable || error.name == "shuttingDown", tries < 2 else { throw error }
        tries += 1
        // The others have ended with the same agent.
        idle.withLock { $0 = [] }
      }
    }
  }

  private func connection() throws(CommandFailure) -> Kept {
    if let kept = idle.withLock({ $0.popLast() }) { return kept }
    return Kept(try Agent.connect(mayStart: mayStart, tellsWaiting: false))
  }

  private func call<Result>(
    _ method: String, on kept: Kept, _ patience: Int32, params: (inout JSONWriter) -> Void,
    result: (JSONNode) throws(CommandFailure) -> Result
  ) throws(CommandFailure) -> Result {
    do throws(CommandFailure) {
      kept.connection.patienceMilliseconds = patience
      let value = try kept.connection.call(method, params: params, result: result)
      keep(kept)
      return value
    } catch {
      // An error that the agent sent leaves the connection in order.
      if error.wire != nil, error.name != "shuttingDown" { keep(kept) }
      throw error
    }
  }

  private func keep(_ kept: Kept) {
    kept.connection.watch = CallWatch()
    idle.withLock { if $0.count < Self.mostIdle { $0.append(kept) } }
  }
}
