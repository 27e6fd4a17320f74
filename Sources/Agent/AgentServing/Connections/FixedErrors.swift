internal import AgentModel
internal import AgentWire
internal import JSONRPC

/// The errors of lines that reach no method.
enum FixedErrors {
  static let parseError = RPCError(
    .parseError, "This line is not JSON. Nothing was done; the connection stays open.")
  static let unfinishedLine = RPCError(
    .parseError, "The input ended before the end of this line. Nothing of it was done, and the connection closes.")
  static let invalidRequest = FixedRefusal(
    RPCError(.invalidRequest, "This is not a JSON-RPC 2.0 request. Nothing was done."))
  static let methodNotFound = RPCError(
    .methodNotFound, "This agent has no such method. `agent.hello` lists its features, `rpc.discover` its methods.")
  static let duplicateID = RPCError(
    .invalidRequest, "A request with this id is still in flight on this connection. The second one was not begun."
  ).with { $0.details = [("duplicateId", .flag(true))] }
  static let lineTooLong = lineTooLong(limit: Limits.lineBytes)
  static let bodyLineTooLong = lineTooLong(limit: Limits.bodyLineBytes)

  private static func lineTooLong(limit: Int) -> RPCError {
    RPCError(.invalidRequest, "The line is over the limit. Nothing of it was done, and the connection closes.").with {
      $0.reason = "lineTooLong"
      $0.details = [("limit", .number(Int64(limit)))]
    }
  }
  static let lineTooSlow = RPCError(
    .invalidRequest, "The line did not end in time. Nothing of it was done, and the connection closes."
  ).with {
    $0.reason = "lineTooSlow"
    $0.details = [("limit", .number(Limits.lineSeconds))]
  }
}
