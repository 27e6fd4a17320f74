/// The events of a subscription, for one consumer. It outlives the connection.
///
/// ```swift
/// let events = try await lanyard.events(types: [.accountSwitched, .sessionExpired])
/// for try await event in events {
///   if let expired = event.sessionExpired { print(event.account, expired.reason) }
/// }
/// ```
///
/// Once an agent runs again (the stream starts none), the stream subscribes again after the last event that it had.
/// What can no longer be told shows as one event of the type ``EventType/eventGap``: look at everything again.
///
/// Iteration throws `CancellationError` when its task is cancelled, and ``LanyardError`` when the agent refuses the
/// subscription. It ends after ``close()``, and when the client was closed or the stream is released.
public final class EventStream: AsyncSequence, Sendable {
  public typealias Element = Event

  static let firstPause = Duration.milliseconds(50)
  static let longestPause = Duration.seconds(5)

  private let client: ClientCore
  private let feed: EventFeed
  private let connection = Locked<Connection?>(nil)
  private let pause = Pause()

  init(client: ClientCore, feed: EventFeed) async throws {
    self.client = client
    self.feed = feed
    client.add(self)
    do {
      // Only the first subscription starts an agent: a later one would undo `lanyard stop`.
      try await subscribe(startsAgent: true)
    } catch {
      // The subscription may have been granted before the task ended.
      close()
      throw error
    }
  }

  deinit { close() }

  /// The position of the last event that was taken, for the `since` of another stream.
  public var position: EventPosition? { feed.position }

  /// Ends the subscription. A consumer that waits gets nil.
  public func close() {
    let wasOpen = !feed.hasEnded
    end(dropsQueue: true)
    let connection = connection.withLock { connection in
      defer { connection = nil }
      return connection
    }
    if wasOpen, let connection, let subscription = feed.subscription { connection.unsubscribe(subscription) }
  }

  /// Ends the stream with its client. Events that have arrived are still told.
  func end(dropsQueue: Bool) {
    feed.end(dropsQueue: dropsQueue)
    pause.end()
  }

  /// The next event, once one has arrived; nil at the end of the stream.
  public func next() async throws -> Event? {
    while true {
      switch try await feed.step() {
      case .event(let event): return event
      case .end: return nil
      case .subscribe:
        do {
          try await resume()
        } catch {
          feed.subscribingFailed()
          throw error
        }
      }
    }
  }

  public func makeAsyncIterator() -> Iterator { Iterator(stream: self) }

  public struct Iterator: AsyncIteratorProtocol {
    let stream: EventStream

    /// The next event, once one has arrived; nil at the end of the stream.
    public mutating func next() async throws -> Event? { try await stream.next() }
  }

  private func resume() async throws {
    var length = Self.firstPause
    while !feed.hasEnded {
      var asked = Duration.zero
      do {
        return try await subscribe(startsAgent: false)
      } catch let error as LanyardError {
        if error.code == .clientClosed { return feed.end(dropsQueue: false) }
        guard error.retryable else { throw error }
        asked = .milliseconds(error.retryAfterMs ?? 0)
      }
      try await pause.wait(Swift.max(length, asked))
      length = Swift.min(length * 2, Self.longestPause)
    }
  }

  private func subscribe(startsAgent: Bool) async throws {
    while true {
      do {
        return try await withDeadline(ClientCore.connectLimit) {
          let link = try await self.client.connection(startsAgent: startsAgent)
          self.connection.withLock { $0 = link }
          _ = try await link.call("event.subscribe", params: self.feed.params, feed: self.feed)
          // The stream may have been closed meanwhile.
          if self.feed.hasEnded, let subscription = self.feed.subscription { link.unsubscribe(subscription) }
        }
      } catch is Connection.NotSent {
        continue
      }
    }
  }
}

/// A pause that can be ended from outside.
final class Pause: Sendable {
  private struct State {
    var task: Task<Void, Never>?
    var hasEnded = false
  }

  private let state = Locked(State())

  /// - Throws: `CancellationError`.
  func wait(_ length: Duration) async throws {
    let task = state.withLock { state -> Task<Void, Never>? in
      guard !state.hasEnded else { return nil }
      let task = Task { _ = try? await Task.sleep(for: length) }
      state.task = task
      return task
    }
    await withTaskCancellationHandler {
      await task?.value
    } onCancel: {
      task?.cancel()
    }
    try Task.checkCancellation()
  }

  func end() {
    let task = state.withLock { state in
      state.hasEnded = true
      return state.task
    }
    task?.cancel()
  }
}

extension Event {
  /// The data of an event of this type; nil for another type, and for data that is not as the contract says.
  func content<Data: Record>(of type: EventType) -> Data? {
    guard self.type == type else { return nil }
    return try? Data(json: .object(data))
  }
}
