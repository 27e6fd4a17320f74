internal import AgentPorts
internal import CCurl

/// What one transfer knows of its connection. Only the loop's thread uses it.
struct TransferConnection {
  /// Whether libcurl may take a kept connection.
  enum Kept {
    case allowed
    /// It took one that can't be used: the transfer starts again.
    case refused
    case forbidden
  }

  /// The handle of the transfer, while it is attached.
  var easy: UnsafeMutableRawPointer?
  /// The sockets that libcurl opened for the transfer.
  var opened: [Int32] = []
  private(set) var kept = Kept.allowed
  /// The request was sent a second time, after a kept connection had ended.
  private var isRepeated = false
  private var sockets: ConnectionSockets?
  private var connects = 0

  /// Called before each start.
  mutating func prepare(_ sockets: ConnectionSockets) {
    self.sockets = sockets
    opened = []
    connects = 0
    if kept == .refused { kept = .forbidden }
  }

  /// Whether the request may be sent on this connection. It was sent before (`isSent`) if a kept connection ended
  /// without a byte of a response: then libcurl begins again by itself, also with writes.
  mutating func take(
    _ ends: ConnectionSockets.Ends, isTLS: Bool, isSent: Bool, _ reuse: ConnectionReuse
  ) -> Bool {
    guard let easy, let sockets, !isSent || reuse.isRepeatable && !isRepeated else { return false }
    let before = connects
    connects = ccurl_get_long(easy, CURLINFO_NUM_CONNECTS)
    if connects > before {
      sockets.connected(ends, among: opened)
      isRepeated = isSent
      return true
    }
    // What has arrived since the last response, such as a second response to that request, libcurl would take for the
    // response to this one.
    guard !isSent, let socket = sockets.socket(of: ends), ccurl_is_quiet(easy, socket, isTLS) else {
      kept = .refused
      return false
    }
    return true
  }
}
