import Glibc
import Synchronization

/// A small HTTP/1.1 server that only this machine can reach.
///
/// It serves the practice provider, and in the agent the one redirect of a sign-in (RFC 8252 section 7.3). Each
/// connection carries one request. An idle listener blocks in `poll` and never wakes.
///
///     let listener = try LoopbackListener(host: "127.0.0.1", port: 0, maximumBodyBytes: 4096) { request in
///       .respond(.text("hello \(request.path)"))
///     }
///     defer { listener.stop() }
public final class LoopbackListener: Sendable {
  /// Runs on the connection's own thread, so calls overlap.
  public typealias Handler = @Sendable (HTTPRequest) -> HTTPReply

  /// Connections served at once; a connection beyond it is answered 503. A browser opens six to a host.
  public static let maximumConnections = 64

  /// Of a request's head. A head takes 1 to 8 KiB, and a browser's more: it sends its cookies for a host to each of its ports,
  /// so that those of all programs that ever listened on this machine come along.
  public static let usualHeadBytes = 64 * 1024

  /// The port it listens on, also if port 0 was asked for.
  public let port: UInt16
  /// Empty once the listener was stopped.
  private let sockets: Mutex<[ListeningSocket]>
  private let stopSignal: StopSignal
  private let threads: ListenerThreads

  /// Listens as soon as this returns.
  ///
  /// - Parameters:
  ///   - host: an address in 127.0.0.0/8, `::1`, or `localhost`, which means both families on one port.
  ///   - port: 0 lets the system choose.
  ///   - admitted: connections of other users are answered 403 and not read.
  ///   - maximumBodyBytes: a longer body is answered 413 and not read.
  ///   - maximumHeadBytes: a longer head is answered 431.
  ///   - keepsQueryApart: the query of each request is `secretQuery`, and no string ever holds it.
  ///   - refusalHeaders: added to the answers that the listener gives by itself, without the handler.
  ///   - onUnreadable: called with the status of each answer to what is no request.
  public convenience init(
    host: String,
    port: UInt16,
    admitted: AdmittedPeers = .everyUser,
    maximumBodyBytes: Int,
    maximumHeadBytes: Int = LoopbackListener.usualHeadBytes,
    keepsQueryApart: Bool = false,
    refusalHeaders: [(name: String, value: String)] = [],
    onUnreadable: @escaping @Sendable (Int) -> Void = { _ in },
    handler: @escaping Handler
  ) throws(LoopbackError) {
    try self.init(
      host: host, port: port, admitted: admitted, maximumBodyBytes: maximumBodyBytes,
      maximumHeadBytes: maximumHeadBytes, keepsQueryApart: keepsQueryApart, refusalHeaders: refusalHeaders,
      onUnreadable: onUnreadable, handlerForPort: { _ in handler })
  }

  /// The same, for a handler that has to know its port before the first request: an issuer contains it.
  public init(
    host: String,
    port: UInt16,
    admitted: AdmittedPeers = .everyUser,
    maximumBodyBytes: Int,
    maximumHeadBytes: Int = LoopbackListener.usualHeadBytes,
    keepsQueryApart: Bool = false,
    refusalHeaders: [(name: String, value: String)] = [],
    onUnreadable: @escaping @Sendable (Int) -> Void = { _ in },
    handlerForPort: (UInt16) -> Handler
  ) throws(LoopbackError) {
    let sockets = try ListeningSocket.open(host: host, port: port)
    let stopSignal = try StopSignal()
    let threads = ListenerThreads()
    self.port = sockets[0].port
    self.sockets = Mutex(sockets)
    self.stopSignal = stopSignal
    self.threads = threads
    let acceptor = Acceptor(
      sockets: sockets,
      stop: stopSignal,
      threads: threads,
      admitted: admitted,
      refusalHeaders: refusalHeaders,
      makeReader: {
        RequestReader(
          maximumBodyBytes: maximumBodyBytes, maximumHeadBytes: maximumHeadBytes, keepsQueryApart: keepsQueryApart)
      },
      onUnreadable: onUnreadable,
      handler: handlerForPort(self.port)
    )
    guard threads.start({ acceptor.run() }) else { throw .system(call: "pthread_create", errno: EAGAIN) }
  }

  /// Closes the port and every connection; a response that is being sent is still sent. Returns when all threads have
  /// ended. A handler may call it: its own thread is not waited for.
  public func stop() {
    stopSignal.raise()
    sockets.withLock { $0 = [] }
    threads.join()
  }

  // Without `join`: one of the listener's own threads may release the last reference. The port is free all the same:
  // the sign-in that follows a registration listens at the port that the registration has just tried.
  deinit {
    stopSignal.raise()
    sockets.withLock { sockets in for socket in sockets { socket.stopListening() } }
  }
}
