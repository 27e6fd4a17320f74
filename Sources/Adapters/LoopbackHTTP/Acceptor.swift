import Glibc
import Synchronization

/// The loop of the accepting thread.
final class Acceptor: Sendable {
  /// With no descriptors left, `accept` fails at once while connections wait: pause instead of spinning.
  private static let exhaustedPauseMilliseconds: Int = 100

  private let sockets: Mutex<[ListeningSocket]>
  private let stop: StopSignal
  private let threads: ListenerThreads
  private let admitted: AdmittedPeers
  private let refusalHeaders: [(name: String, value: String)]
  private let makeReader: @Sendable () -> RequestReader
  private let onUnreadable: @Sendable (Int) -> Void
  private let handler: LoopbackListener.Handler

  init(
    sockets: [ListeningSocket],
    stop: StopSignal,
    threads: ListenerThreads,
    admitted: AdmittedPeers,
    refusalHeaders: [(name: String, value: String)],
    makeReader: @escaping @Sendable () -> RequestReader,
    onUnreadable: @escaping @Sendable (Int) -> Void,
    handler: @escaping LoopbackListener.Handler
  ) {
    self.sockets = Mutex(sockets)
    self.stop = stop
    self.threads = threads
    self.admitted = admitted
    self.refusalHeaders = refusalHeaders
    self.makeReader = makeReader
    self.onUnreadable = onUnreadable
    self.handler = handler
  }

  /// Accepts until the stop; closes the sockets before it returns, so that the port is free before the thread is
  /// joined.
  func run() {
    let sockets = sockets.withLock { held in
      defer { held = [] }
      return held
    }
    let descriptors = sockets.map { $0.descriptor.number }
    while stop.wait(for: descriptors, events: POLLIN) == .ready {
      for socket in sockets { take(socket.accept()) }
    }
  }

  private func take(_ number: Int32) {
    switch number {
    case 0...: serve(Descriptor(owning: number))
    case -EMFILE, -ENFILE, -ENOMEM, -ENOBUFS: _ = stop.wait(milliseconds: Self.exhaustedPauseMilliseconds)
    default: break  // no connection waits
    }
  }

  private func serve(_ descriptor: consuming Descriptor) {
    if let onForeign = admitted.onForeign, !admitted.admits(PeerOwner.uid(of: descriptor.number), own: geteuid()) {
      onForeign()
      return refuse(descriptor, .text("This address answers another user of this machine.\n", status: 403))
    }
    // One of the threads is the accepting one.
    guard threads.count <= LoopbackListener.maximumConnections else { return refuse(descriptor) }
    let slot = ConnectionSlot(Connection(descriptor, stop: stop, refusalHeaders: refusalHeaders))
    let isStarted = threads.start { [makeReader, onUnreadable, handler] in
      slot.take()?.serve(reading: makeReader, onUnreadable: onUnreadable, handler: handler)
    }
    if !isStarted, let connection = slot.take() { refuse(connection.descriptor) }
  }

  private func refuse(
    _ descriptor: borrowing Descriptor, _ response: HTTPResponse = .text("busy\n", status: 503)
  ) {
    let bytes = response.adding(refusalHeaders).serialized()
    _ = send(descriptor.number, bytes, bytes.count, Int32(MSG_NOSIGNAL))
    shutdown(descriptor.number, Int32(SHUT_WR))
  }
}

/// Hands a connection to the thread that will own it.
private final class ConnectionSlot: Sendable {
  private let connection: Mutex<Connection?>

  init(_ connection: consuming Connection) { self.connection = Mutex(connection) }

  func take() -> Connection? { connection.withLock { $0.take() } }
}
