import CPlatform
import Glibc
import StreamingHTTP
import Synchronization
import Threads

/// The clients' connections, and the requests that run on them: at a server, or while a person is asked. One thread notices
/// clients that go away, and ends their requests.
final class HangUps: Sendable {
  /// A client's connection. A request costs no system call: the socket is in the set of epoll(7) for its whole life.
  private struct Connection {
    /// Tells the socket from a later one that got its descriptor.
    var number: UInt32
    /// The client has ended its half.
    var isOver = false
    var request: Request?
  }

  /// A request that runs.
  private struct Request {
    /// Empty for a connection that passes without a token.
    var account: String
    var cancel: @Sendable () -> Void
    var endsWithClient: Bool
    /// `cancel(account:)` ended it.
    var isCancelled = false
  }

  private struct State {
    var connections: [Int32: Connection] = [:]
    var lastNumber: UInt32 = 0
  }

  private let state = Mutex(State())
  private let set = lanyard_readiness()

  /// Linux's value, which Glibc's module does not have: the peer has ended its half. epoll(7) and poll(2) share it.
  private static let hangUp = Int16(0x2000)

  deinit { if set >= 0 { close(set) } }

  /// False if there is no thread or no descriptor left.
  func start() -> Bool {
    set >= 0 && DetachedThread.start { [self] in run() }
  }

  /// Watches a client's socket while `body` serves it. The socket is closed after it.
  func connected(_ socket: Int32, _ body: () -> Void) {
    state.withLock { state in
      state.lastNumber &+= 1
      state.connections[socket] = Connection(number: state.lastNumber)
      _ = lanyard_readiness_add(set, socket, Self.hangUp, Self.token(socket, state.lastNumber))
    }
    body()
    state.withLock { state in
      state.connections[socket] = nil
      lanyard_readiness_remove(set, socket)
    }
  }

  /// Notes what runs on a client's connection while `body` runs. `isCancelled`: `cancel` ended the request.
  ///
  /// - Parameter endsWithClient: false where a client may end its half and still wait for the server's.
  func watch<Result>(
    _ socket: Int32, of account: String, _ cancellation: HTTPCancellation, endsWithClient: Bool = true,
    _ body: () -> Result
  ) -> (result: Result, isCancelled: Bool) {
    watch(socket, of: account, endsWithClient: endsWithClient, cancel: { cancellation.cancel() }, body)
  }

  /// The same for what `cancel` ends, from any thread.
  func watch<Result>(
    _ socket: Int32, of account: String, endsWithClient: Bool = true, cancel: @escaping @Sendable () -> Void,
    _ body: () -> Result
  ) -> (result: Result, isCancelled: Bool) {
    state.withLock { state in
      state.connections[socket]?.request = Request(account: account, cancel: cancel, endsWithClient: endsWithClient)
      if endsWithClient, state.connections[socket]?.isOver == true { cancel() }
    }
    let result = body()
    let isCancelled = state.withLock { state in
      defer { state.connections[socket]?.request = nil }
      return state.connections[socket]?.request?.isCancelled ?? false
    }
    return (result, isCancelled)
  }

  private func run() {
    var ready = [lanyard_ready](repeating: lanyard_ready(), count: 64)
    while true {
      let count = lanyard_readiness_wait(set, &ready, Int32(ready.count), -1)
      for entry in ready[..<max(0, Int(count))] { end(entry.token) }
    }
  }

  /// A client has ended its half, or is gone.
  private func end(_ token: UInt64) {
    let socket = Int32(truncatingIfNeeded: token)
    state.withLock { state in
      guard let connection = state.connections[socket], Self.token(socket, connection.number) == token else { return }
      // It would be reported again and again.
      lanyard_readiness_remove(set, socket)
      state.connections[socket]?.isOver = true
      if let request = connection.request, request.endsWithClient { request.cancel() }
    }
  }

  private static func token(_ socket: Int32, _ number: UInt32) -> UInt64 {
    UInt64(number) << 32 | UInt64(UInt32(bitPattern: socket))
  }

  /// The accounts of the requests that run.
  var accounts: Set<String> { state.withLock { Set($0.connections.values.compactMap(\.request?.account)) } }

  /// Ends the requests of an account.
  func cancel(account: String) {
    state.withLock { state in
      for (socket, connection) in state.connections {
        guard let request = connection.request, request.account == account, !request.isCancelled else { continue }
        state.connections[socket]?.request?.isCancelled = true
        request.cancel()
      }
    }
  }

  /// Ends all requests that run.
  func cancelAll() {
    for account in accounts { cancel(account: account) }
  }
}
