internal import CCurl

/// The sockets of the connections that one thread keeps. libcurl tells a request the ends of its connection, and the
/// socket only when it opens one. Only that thread uses it.
package final class ConnectionSockets {
  /// The ends of a connection, which no other open connection has.
  package struct Ends: Hashable {
    var peer: String
    var peerPort: Int32
    var local: String
    var localPort: Int32
  }

  /// More than a thread's connections; those that are closed leave their entries behind.
  private static let maximumCount = 256
  private var sockets: [Ends: Int32] = [:]
  /// The only connection has streams (HTTP/2): bytes that wait belong to one of them, and can't be taken for a response.
  package var isMultiplexed = false

  package init() {}

  /// Finds the socket of a new connection among those that its transfer opened.
  func connected(_ ends: Ends, among opened: Set<Int32>) {
    isMultiplexed = false
    let found = opened.filter { ccurl_local_port($0) == ends.localPort }
    // A connection without an entry is not used again.
    if sockets.count >= Self.maximumCount { sockets = [:] }
    sockets[ends] = found.count == 1 ? found.first : nil
  }

  /// The socket of a kept connection. It is open as long as libcurl uses the connection.
  func socket(of ends: Ends) -> Int32? { sockets[ends] }
}
