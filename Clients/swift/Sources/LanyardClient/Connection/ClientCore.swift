/// What all copies of a client share: the connection, and the way to another.
final class ClientCore: Sendable {
  /// The limit for connecting and `agent.hello`: longer than a start.
  static let connectLimit = Duration.seconds(12)

  /// How often a call looks for a connection. One that ended before the call was sent is replaced; an agent that ends
  /// each of them is not worth more.
  private static let largestAttempts = 4

  private enum Phase {
    case idle
    case connecting(ConnectionAttempt)
    case connected(Connection)
    case closed
  }

  private struct State {
    var phase = Phase.idle
    var hello: AgentHelloResult?
    var streams: [WeakStream] = []
  }

  private struct WeakStream {
    weak var stream: EventStream?
  }

  private let dialer: Dialer
  private let state = Locked(State())

  init(dialer: Dialer) { self.dialer = dialer }

  deinit { close() }

  /// The answer to `agent.hello` on the latest connection; nil before the first.
  var hello: AgentHelloResult? { state.withLock { $0.hello } }

  /// Calls a method. A call that was in flight when its connection ended is never sent twice.
  func call(_ method: String, params: WireWriter?, limit: Duration?) async throws -> Answer {
    try await withDeadline(limit) {
      for _ in 0..<Self.largestAttempts {
        let connection = try await self.connection(startsAgent: true)
        do {
          return try await connection.call(method, params: params)
        } catch is Connection.NotSent {
          try Task.checkCancellation()
        }
      }
      throw Connection.wentAway
    }
  }

  /// The connection, opened if it must be. One attempt serves all callers that wait for it.
  func connection(startsAgent: Bool) async throws -> Connection {
    while true {
      let step: Step = state.withLock { state in
        switch state.phase {
        case .closed: return .failed(Self.closed)
        case .connected(let connection) where connection.isOpen: return .done(connection)
        case .connecting(let attempt): return .wait(attempt, isOwn: false)
        case .idle, .connected:
          let attempt = ConnectionAttempt(startsAgent: startsAgent)
          state.phase = .connecting(attempt)
          return .wait(attempt, isOwn: true)
        }
      }
      switch step {
      case .failed(let error): throw error
      case .done(let connection): return connection
      case .wait(let attempt, let isOwn):
        if isOwn { begin(attempt) }
        do {
          return try await attempt.connection()
        } catch let error as LanyardError
          where error.code == .agentNotRunning && startsAgent && !attempt.startsAgent
        {
          // That attempt was an event stream's, which starts no agent.
          continue
        }
      }
    }
  }

  private enum Step {
    case done(Connection)
    case wait(ConnectionAttempt, isOwn: Bool)
    case failed(LanyardError)
  }

  private func begin(_ attempt: ConnectionAttempt) {
    // The attempt is not its first caller's: it goes on for the others when that is cancelled.
    let task = Task { [dialer, weak self] in
      do {
        let (connection, hello) = try await withDeadline(
          Self.connectLimit, "the agent did not accept the connection in time"
        ) {
          try await dialer.connect(startsAgent: attempt.startsAgent)
        }
        guard let self else { return connection.lose(Self.closed) }
        self.ended(attempt, .success((connection, hello)))
      } catch {
        let told = error is CancellationError ? Self.closed : error
        self?.ended(attempt, .failure(told))
      }
    }
    attempt.run(task)
  }

  private func ended(
    _ attempt: ConnectionAttempt, _ result: Result<(Connection, AgentHelloResult), any Error>
  ) {
    let isWanted = state.withLock { state in
      guard case .connecting(let current) = state.phase, current === attempt else { return false }
      switch result {
      case .success(let (connection, hello)):
        state.phase = .connected(connection)
        state.hello = hello
      case .failure: state.phase = .idle
      }
      return true
    }
    switch result {
    case .success(let (connection, _)):
      if !isWanted { connection.lose(Self.closed) }
      attempt.end(isWanted ? .success(connection) : .failure(Self.closed))
    case .failure(let error): attempt.end(.failure(error))
    }
  }

  /// Remembers a stream, which ends with the client.
  func add(_ stream: EventStream) {
    state.withLock { state in
      state.streams.removeAll { $0.stream == nil }
      state.streams.append(WeakStream(stream: stream))
    }
  }

  var isClosed: Bool {
    state.withLock {
      guard case .closed = $0.phase else { return false }
      return true
    }
  }

  func close() {
    let (phase, streams) = state.withLock { state in
      defer {
        state.phase = .closed
        state.streams = []
      }
      return (state.phase, state.streams.compactMap(\.stream))
    }
    switch phase {
    case .idle, .closed: break
    case .connecting(let attempt): attempt.cancel(Self.closed)
    case .connected(let connection): connection.lose(Self.closed)
    }
    for stream in streams { stream.end(dropsQueue: false) }
  }

  private static let closed = LanyardError(.clientClosed, "the client was closed")
}

/// One attempt to connect, for all callers that wait for a connection.
final class ConnectionAttempt: Sendable {
  private struct State {
    var task: Task<Void, Never>?
    var result: Result<Connection, any Error>?
    var lastWaiter = 0
    var waiters: [Int: CheckedContinuation<Connection, any Error>] = [:]
  }

  let startsAgent: Bool
  private let state = Locked(State())

  init(startsAgent: Bool) { self.startsAgent = startsAgent }

  func run(_ task: Task<Void, Never>) {
    let isOver = state.withLock { state in
      state.task = task
      return state.result != nil
    }
    if isOver { task.cancel() }
  }

  func cancel(_ error: LanyardError) {
    end(.failure(error))
    state.withLock { $0.task }?.cancel()
  }

  func end(_ result: Result<Connection, any Error>) {
    let waiters = state.withLock { state in
      guard state.result == nil else { return [CheckedContinuation<Connection, any Error>]() }
      state.result = result
      defer { state.waiters = [:] }
      return Array(state.waiters.values)
    }
    for waiter in waiters { waiter.resume(with: result) }
  }

  /// Waits for the connection.
  func connection() async throws -> Connection {
    let id = state.withLock { state in
      state.lastWaiter += 1
      return state.lastWaiter
    }
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        state.withLock { state in
          if let result = state.result {
            continuation.resume(with: result)
          } else if Task.isCancelled {
            continuation.resume(throwing: CancellationError())
          } else {
            state.waiters[id] = continuation
          }
        }
      }
    } onCancel: {
      let waiter = state.withLock { $0.waiters.removeValue(forKey: id) }
      waiter?.resume(throwing: CancellationError())
    }
  }
}
