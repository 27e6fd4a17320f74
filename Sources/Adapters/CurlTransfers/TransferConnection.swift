internal import CCurl

/// What one transfer knows of its connection. Only the thread that runs it uses it.
package struct TransferConnection {
  /// Whether libcurl may take a kept connection.
  package enum Kept {
    case allowed
    /// It took one that can't be used: the transfer starts again.
    case refused
    case forbidden
  }

  package private(set) var kept = Kept.allowed
  /// The sockets that libcurl opened for the transfer. libcurl 8.14 tells each one twice.
  private var opened: Set<Int32> = []
  /// The request was sent a second time, after a kept connection had ended.
  private var isRepeated = false
  private var sockets: ConnectionSockets?
  private var connects = 0

  package init() {}

  /// Called before each start.
  package mutating func prepare(_ sockets: ConnectionSockets) {
    self.sockets = sockets
    opened = []
    connects = 0
    if kept == .refused { kept = .forbidden }
  }

  /// libcurl opened a socket for the transfer.
  package mutating func opened(_ socket: Int32) { opened.insert(socket) }

  /// Whether the request may be sent on this connection. It was sent before (`isSent`) if a kept connection ended
  /// without a byte of a response: then libcurl begins again by itself, also with writes.
  ///
  /// - Parameter isRepeatable: the request may be sent a second time.
  package mutating func take(
    _ ends: ConnectionSockets.Ends, of handle: EasyHandle, isTLS: Bool, isSent: Bool, isRepeatable: Bool
  ) -> Bool {
    guard let sockets, !isSent || isRepeatable && !isRepeated else { return false }
    let before = connects
    connects = ccurl_get_long(handle.easy, CURLINFO_NUM_CONNECTS)
    if connects > before {
      sockets.connected(ends, among: opened)
      isRepeated = isSent
      return true
    }
    // What has arrived since the last response, such as a second response to that request, libcurl would take for the
    // response to this one.
    let isQuiet =
      sockets.isMultiplexed || sockets.socket(of: ends).map { ccurl_is_quiet(handle.easy, $0, isTLS) } == true
    guard !isSent, isQuiet else {
      kept = .refused
      return false
    }
    return true
  }
}
