internal import CommandSupport
internal import JSONRPC
internal import Synchronization

/// One kept connection to the agent, which all requests share: its answers take microseconds.
final class AgentLink: @unchecked Sendable {
  // `@unchecked Sendable`: `lock` guards the connection.
  private let lock = Mutex(())
  private var connection: AgentConnection?
  private let mayStart: Bool

  init(mayStart: Bool) { self.mayStart = mayStart }

  /// Calls a method. A call that changes nothing is repeated once on a new connection, where the agent has ended since.
  func call<Result>(
    _ method: String, isRepeatable: Bool = true, params: (inout JSONWriter) -> Void,
    result: (JSONNode) throws(CommandFailure) -> Result
  ) throws(CommandFailure) -> Result {
    var answer: Swift.Result<Result, CommandFailure> = .failure(.notUnderstood)
    lock.withLock { _ in
      do throws(CommandFailure) {
        answer = .success(try exchange(method, isRepeatable, params, result))
      } catch {
        answer = .failure(error)
      }
    }
    return try answer.get()
  }

  private func exchange<Result>(
    _ method: String, _ isRepeatable: Bool, _ params: (inout JSONWriter) -> Void,
    _ result: (JSONNode) throws(CommandFailure) -> Result
  ) throws(CommandFailure) -> Result {
    do throws(CommandFailure) {
      return try send(method, params, result)
    } catch {
      // An agent that is ending takes no request.
      guard error.name == "wentAway" && isRepeatable || error.name == "shuttingDown" else {
        if error.name == "wentAway" { connection = nil }
        throw error
      }
      connection = nil
      return try send(method, params, result)
    }
  }

  private func send<Result>(
    _ method: String, _ params: (inout JSONWriter) -> Void, _ result: (JSONNode) throws(CommandFailure) -> Result
  ) throws(CommandFailure) -> Result {
    if connection == nil { connection = try Agent.connect(mayStart: mayStart) }
    return try connection!.call(method, params: params, result: result)
  }
}
