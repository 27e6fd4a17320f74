internal import CQuickToken
internal import CommandSupport

extension AgentConnection {
  /// The connection on which `CQuickToken` has sent the request of this command; nil if it has sent none.
  static func begunInC() -> AgentConnection? {
    let request = lanyard_take_begun_request()
    guard request.connection >= 0 else { return nil }
    defer { lanyard_wipe_begun_request() }
    return AgentConnection(
      socket: request.connection, sent: Int64(lanyard_begun_request_id),
      received: UnsafeRawBufferPointer(start: request.received, count: request.count), waited: request.waited)
  }
}
