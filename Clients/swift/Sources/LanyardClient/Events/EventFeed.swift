#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

/// The events of one subscription, over any number of connections: the queue, the position, and gaps.
final class EventFeed: Sendable {
  /// The number of events kept for a slow consumer. Beyond this, an `event.gap` replaces the oldest.
  static let largestQueue = 10_000

  /// What the consumer does next.
  enum Step {
    case event(Event)
    /// The connection has ended, and this caller subscribes again.
    case subscribe
    case end
  }

  fileprivate enum Link {
    case none
    /// A caller subscribes.
    case subscribing
    case subscribed
  }

  fileprivate struct State {
    var link = Link.subscribing
    var subscription: String?
    /// Of the last event that arrived.
    var position: EventPosition?
    /// Of the last event that the consumer took.
    var taken: EventPosition?
    /// Events until this position are a replay of what arrived before.
    var takenUntil: EventPosition?
    var queue = EventQueue()
    var hasEnded = false
    var lastWaiter = 0
    var waiters: [Int: CheckedContinuation<Step, any Error>] = [:]
  }

  private let types: [EventType]?
  private let accounts: [String]?
  private let state: Locked<State>

  init(types: [EventType]?, accounts: [String]?, since: EventPosition?) {
    self.types = types
    self.accounts = accounts
    var begin = State()
    begin.position = since
    begin.taken = since
    state = Locked(begin)
  }

  /// The position of the last event that the consumer took.
  var position: EventPosition? { state.withLock { $0.taken } }

  var subscription: String? { state.withLock { $0.subscription } }

  var hasEnded: Bool { state.withLock { $0.hasEnded } }

  /// The params for the next `event.subscribe`.
  var params: WireWriter {
    var writer = WireWriter()
    writer.beginObject()
    writer.member("types", types)
    writer.member("accounts", accounts)
    writer.member("since", state.withLock { $0.position })
    writer.endObject()
    return writer
  }

  /// Handles the answer of `event.subscribe`, and returns the subscription.
  func subscribed(_ result: WireNode) throws(LanyardError) -> String {
    guard let subscription = result["subscription"]?.string, let epoch = result["epoch"]?.string,
      let sequence = result["sequence"]?.integer
    else {
      throw LanyardError(.protocolError, "the result of event.subscribe names no subscription, epoch and sequence")
    }
    let wakeup = state.withLock { state -> Wakeup? in
      state.subscription = subscription
      state.link = .subscribed
      if let position = state.position, position.epoch == epoch, result["gap"]?.bool != true {
        state.takenUntil = position
      } else {
        let before = state.position
        let told = EventPosition(epoch: epoch, sequence: sequence)
        state.position = told
        state.takenUntil = nil
        guard let before else {
          state.taken = told
          return nil
        }
        // In another epoch nothing is known of what was missed.
        let first = before.epoch == epoch ? before.sequence + 1 : 0
        return hand(state.gap(from: first, until: told), &state)
      }
      return nil
    }
    wakeup?.perform()
    return subscription
  }

  /// Queues an event for the consumer, unless it arrived before.
  func receive(_ event: Event) {
    let wakeup = state.withLock { state -> Wakeup? in
      if state.hasEnded { return nil }
      if let taken = state.takenUntil, taken.epoch == event.epoch, event.sequence <= taken.sequence { return nil }
      state.position = event.position
      let wakeup = hand(event, &state)
      if state.queue.count > Self.largestQueue, let dropped = state.queue.popFirst(), let last = state.queue.first {
        // The position is that of the last event that is lost, so that those behind it are not passed over.
        let first = dropped.eventGap?.from ?? dropped.sequence
        state.queue.replaceFirst(by: state.gap(from: first, until: last.position))
      }
      return wakeup
    }
    wakeup?.perform()
  }

  /// The next connection needs a subscription of its own.
  func connectionEnded() {
    let wakeup = state.withLock { state -> Wakeup? in
      guard state.link == .subscribed else { return nil }
      state.link = .none
      guard let (id, waiter) = state.waiters.first else { return nil }
      state.waiters[id] = nil
      state.link = .subscribing
      return Wakeup(waiter: waiter, step: .subscribe)
    }
    wakeup?.perform()
  }

  /// A caller that was to subscribe has given up.
  func subscribingFailed() {
    state.withLock { state in
      if state.link == .subscribing { state.link = .none }
    }
  }

  /// Ends the feed: consumers that wait get nil.
  func end(dropsQueue: Bool) {
    let waiters = state.withLock { state in
      state.hasEnded = true
      if dropsQueue { state.queue = EventQueue() }
      defer { state.waiters = [:] }
      return state.waiters.values
    }
    for waiter in waiters { waiter.resume(returning: .end) }
  }

  /// Waits until there is something to do.
  ///
  /// - Throws: `CancellationError`.
  func step() async throws -> Step {
    let id = state.withLock { state in
      state.lastWaiter += 1
      return state.lastWaiter
    }
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let ready: Result<Step, any Error>? = state.withLock { state in
          if let event = state.queue.popFirst() {
            state.taken = event.position
            return .success(.event(event))
          }
          if state.hasEnded { return .success(.end) }
          if Task.isCancelled { return .failure(CancellationError()) }
          if state.link == .none {
            state.link = .subscribing
            return .success(.subscribe)
          }
          state.waiters[id] = continuation
          return nil
        }
        if let ready { continuation.resume(with: ready) }
      }
    } onCancel: {
      let waiter = state.withLock { $0.waiters.removeValue(forKey: id) }
      waiter?.resume(throwing: CancellationError())
    }
  }

  private func hand(_ event: Event, _ state: inout State) -> Wakeup? {
    guard state.queue.isEmpty, let (id, waiter) = state.waiters.first else {
      state.queue.append(event)
      return nil
    }
    state.waiters[id] = nil
    state.taken = event.position
    return Wakeup(waiter: waiter, step: .event(event))
  }

  /// Resumes a consumer, performed after the lock was released: the end of the consumer's task takes the lock while it
  /// holds what a resumption waits for.
  private struct Wakeup {
    let waiter: CheckedContinuation<Step, any Error>
    let step: Step

    func perform() { waiter.resume(returning: step) }
  }
}

extension EventFeed.State {
  /// The event that stands for those from a sequence up to a position.
  fileprivate func gap(from first: Int, until last: EventPosition) -> Event {
    Event(
      subscription: subscription ?? "", epoch: last.epoch, sequence: last.sequence, type: .eventGap, at: Date(),
      data: ["from": .integer(min(first, last.sequence)), "to": .integer(last.sequence)])
  }
}

extension Event {
  fileprivate var position: EventPosition { EventPosition(epoch: epoch, sequence: sequence) }
}

/// A queue of events.
struct EventQueue {
  private var events: [Event?] = []
  private var head = 0

  var count: Int { events.count - head }
  var isEmpty: Bool { count == 0 }

  mutating func append(_ event: Event) { events.append(event) }

  var first: Event? { isEmpty ? nil : events[head] }

  mutating func replaceFirst(by event: Event) { events[head] = event }

  mutating func popFirst() -> Event? {
    guard head < events.count else { return nil }
    defer {
      events[head] = nil
      head += 1
      if head > 64, head * 2 > events.count {
        events.removeFirst(head)
        head = 0
      }
    }
    return events[head]
  }
}
