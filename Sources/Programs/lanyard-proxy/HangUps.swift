import Glibc
import StreamingHTTP
import Synchronization
import Threads

/// The requests that run at servers, or wait for a person. One thread notices clients that go away, and ends their requests.
final class HangUps: Sendable {
  /// A request that runs.
  private struct Watched {
    /// Tells the socket from a later one that got its descriptor.
    var number: UInt64
    /// Empty for a connection that passes without a token.
    var account: String
    var cancel: @Sendable () -> Void
    var endsWithClient: Bool
  }

  private struct State {
    var watched: [Int32: Watched] = [:]
    /// Those that `cancel` ended, until they return.
    var cancelled: Set<UInt64> = []
  }

  private let state = Mutex(State())
  private let lastNumber = Atomic<UInt64>(0)
  private let wakeUp = WakeUp()

  /// False if there is no thread left.
  func start() -> Bool {
    wakeUp.descriptor >= 0 && DetachedThread.start { [self] in run() }
  }

  /// Watches a client's socket while `body` runs. `isCancelled`: `cancel` ended the request.
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
    let number = lastNumber.add(1, ordering: .relaxed).newValue
    state.withLock {
      $0.watched[socket] = Watched(
        number: number, account: account, cancel: cancel, endsWithClient: endsWithClient)
    }
    wakeUp.signal()
    let result = body()
    let isCancelled = state.withLock { state in
      state.watched[socket] = nil
      return state.cancelled.remove(number) != nil
    }
    // A socket that is closed while `poll` waits for it stays open until then.
    wakeUp.signal()
    return (result, isCancelled)
  }

  private func run() {
    // Linux's value, which Glibc's module does not have.
    let hangUp = Int16(0x2000)
    while true {
      let sockets = state.withLock { state in
        state.watched.filter(\.value.endsWithClient).map { (socket: $0.key, number: $0.value.number) }
      }
      var entries = sockets.map { pollfd(fd: $0.socket, events: hangUp, revents: 0) }
      entries.append(pollfd(fd: wakeUp.descriptor, events: Int16(POLLIN), revents: 0))
      guard poll(&entries, nfds_t(entries.count), -1) > 0 else { continue }
      wakeUp.clear()
      for (entry, socket) in zip(entries, sockets)
      where entry.revents & (hangUp | Int16(POLLHUP) | Int16(POLLERR)) != 0 {
        state.withLock { state in
          guard let found = state.watched[socket.socket], found.number == socket.number else { return }
          state.watched[socket.socket] = nil
          found.cancel()
        }
      }
    }
  }

  /// The accounts of the requests that run.
  var accounts: Set<String> { state.withLock { Set($0.watched.values.map(\.account)) } }

  /// Ends the requests of an account.
  func cancel(account: String) {
    state.withLock { state in
      for (socket, found) in state.watched where found.account == account {
        state.watched[socket] = nil
        state.cancelled.insert(found.number)
        found.cancel()
      }
    }
  }

  /// Ends all requests that run.
  func cancelAll() {
    for account in accounts { cancel(account: account) }
  }
}
