internal import AgentCore
internal import AgentModel
internal import AgentPorts
internal import AgentProtocol
internal import JSONRPC
internal import Synchronization

/// Publishes events in one order. By their sequence numbers a client that was disconnected resumes, or learns that it
/// missed some.
final class EventHub: Sendable {
  /// The number of past events that a client can still get: some minutes of a busy agent, and under 1 MiB.
  static let ringCapacity = 1024
  /// Subscriptions a connection may hold.
  static let subscriptionsPerConnection = 16

  fileprivate struct Event {
    var sequence: Int64
    var type: EventType
    var account: AccountID?
    /// The account of the event, also if its members do not name it.
    var about: AccountID?
    /// Of the events of a grant, which other grants are not told of.
    var grant: String?
    /// The members after `subscription`, as JSON.
    var body: SharedBytes
    /// `discreet` is the same body without `mentions`, for a subscriber whose grant does not cover that account.
    var mentions: AccountID?
    var discreet: SharedBytes?

    func body(within covered: Set<AccountID>?) -> SharedBytes {
      guard let mentions, let discreet, let covered, !covered.contains(mentions) else { return body }
      return discreet
    }
  }

  fileprivate struct Subscription {
    var connection: UInt64
    var output: any ConnectionOutput
    var types: Set<EventType>?
    var accounts: Set<AccountID>?
    /// The accounts that the caller's grant covers; nil without a limit.
    var covered: Set<AccountID>?
    /// The grants of the caller.
    var grants: Set<String> = []
    /// The sequence of the next event to deliver.
    var cursor: Int64
    /// False until the answer to `event.subscribe` is queued: no event precedes it.
    var started = false
    /// The first event that was dropped because the client's backlog was full.
    var lostFrom: Int64?

    func wants(_ event: Event) -> Bool {
      guard types?.contains(event.type) ?? true else { return false }
      if let covered {
        if let grant = event.grant {
          guard grants.contains(grant) else { return false }
        } else if !(event.about.map(covered.contains) ?? event.type.tellsOfNoAccount) {
          return false
        }
      }
      guard let accounts else { return true }
      return event.account.map { accounts.contains($0) } ?? true
    }
  }

  fileprivate struct State {
    var next: Int64 = 1
    var ring: [Event] = []
    var ringStart = 0
    var subscriptions: [String: Subscription] = [:]
    var order: [String] = []
    var names: Int64 = 0
    /// How often a subscriber lost events since the agent's start.
    var gaps: Int64 = 0
  }

  let epoch: String
  private let clock: any AgentClock
  private let state = Mutex(State())

  init(epoch: String, clock: any AgentClock) {
    self.epoch = epoch
    self.clock = clock
  }

  // MARK: publishing

  /// Keeps the event in the ring and delivers it.
  ///
  /// - Parameters:
  ///   - about: the account of the event, if the event has no `account`.
  ///   - grant: the grant that the event is about; a caller with other grants is not told of it.
  ///   - at: when it happened, by the wall clock; nil: now.
  ///   - mentions: another account that the event names; a caller whose grant does not cover it gets `otherwise`.
  func send(
    _ data: any WireEvent, _ account: AccountID?, _ about: AccountID?, of grant: String? = nil, at: Timestamp? = nil,
    mentions: AccountID? = nil, otherwise: (any WireEvent)? = nil
  ) {
    state.withLock { state in
      let sequence = state.next
      state.next += 1
      let event = Event(
        sequence: sequence, type: Swift.type(of: data).type, account: account, about: account ?? about, grant: grant,
        body: body(sequence, data, account, at: at), mentions: mentions,
        discreet: mentions == nil ? nil : otherwise.map { body(sequence, $0, account) })
      state.keep(event)
      for name in state.order { state.deliver(event, to: name, self) }
    }
  }

  private func body(
    _ sequence: Int64, _ data: any WireEvent, _ account: AccountID?, at: Timestamp? = nil
  ) -> SharedBytes {
    var writer = JSONWriter(capacity: 256)
    writer.member("epoch", epoch)
    writer.member("sequence", sequence)
    writer.member("type", Swift.type(of: data).type.rawValue)
    writer.member("account", account?.text)
    writer.member("at", (at ?? clock.wall()).rfc3339)
    writer.key("data")
    data.write(to: &writer)
    return SharedBytes(writer.finish())
  }

  /// The line for one subscription. All lines of an event share its body.
  fileprivate static func line(_ subscription: String, _ body: SharedBytes) -> WireBytes {
    var writer = JSONWriter(capacity: 96)
    writer.verbatim("{\"jsonrpc\":\"2.0\",\"method\":\"event\",\"params\":{\"subscription\":\"")
    var name = subscription
    name.withUTF8 { writer.verbatim(UnsafeRawBufferPointer($0)) }
    writer.verbatim("\",")
    writer.verbatim(body)
    writer.verbatim("}}\n")
    return writer.finish()
  }

  // MARK: subscribing

  struct Started: Sendable {
    var subscription: String
    var sequence: Int64
    var gap: Bool
  }

  /// Registers a subscription, which delivers nothing before `start`. Nil if the connection has reached its limit.
  func subscribe(
    connection: UInt64, output: any ConnectionOutput, types: Set<EventType>?, accounts: Set<AccountID>?,
    covered: Set<AccountID>? = nil, grants: [String] = [], since: (epoch: String, sequence: Int64)?
  ) -> Started? {
    state.withLock { (state) -> Started? in
      let held = state.subscriptions.values.filter { $0.connection == connection }.count
      guard held < Self.subscriptionsPerConnection else { return nil }
      state.names += 1
      let name = "sub_\(state.names)"
      let latest = state.next - 1
      var cursor = latest
      var gap = false
      if let since {
        let oldest = state.oldestSequence
        if since.epoch == epoch, since.sequence <= latest, since.sequence >= oldest - 1 {
          cursor = since.sequence
        } else {
          // Another run of the agent, or older than the ring.
          gap = since.epoch != epoch || since.sequence < latest
          if gap { state.gaps += 1 }
        }
      }
      state.subscriptions[name] = Subscription(
        connection: connection, output: output, types: types, accounts: accounts, covered: covered,
        grants: Set(grants), cursor: cursor)
      state.order.append(name)
      return Started(subscription: name, sequence: cursor, gap: gap)
    }
  }

  /// The answer is queued: events follow it from now on, missed ones first.
  func start(_ subscription: String) {
    state.withLock { state in
      guard let cursor = state.subscriptions[subscription]?.cursor else { return }
      state.subscriptions[subscription]?.started = true
      for event in state.events(after: cursor) { state.deliver(event, to: subscription, self) }
    }
  }

  /// False if this connection has no such subscription.
  func unsubscribe(_ subscription: String, connection: UInt64) -> Bool {
    state.withLock { state in
      guard state.subscriptions[subscription]?.connection == connection else { return false }
      state.remove(subscription)
      return true
    }
  }

  /// The connection is limited from now on: limits its subscriptions, too.
  func narrow(_ connection: UInt64, to permission: Permission, of grants: [String]) {
    state.withLock { state in
      for name in state.order where state.subscriptions[name]?.connection == connection {
        if permission.methods.contains(EventSubscribe.name) {
          state.subscriptions[name]?.covered = permission.accounts
          state.subscriptions[name]?.grants = Set(grants)
        } else {
          state.remove(name)
        }
      }
    }
  }

  /// How often a subscriber lost events since the agent's start.
  var gaps: Int64 { state.withLock { $0.gaps } }

  /// The connections that have a subscription.
  var subscribers: Set<UInt64> { state.withLock { Set($0.subscriptions.values.map(\.connection)) } }

  func connectionEnded(_ connection: UInt64) {
    state.withLock { state in
      for name in state.order where state.subscriptions[name]?.connection == connection { state.remove(name) }
    }
  }

  /// The client has read its backlog: reports the events that it lost meanwhile.
  func drained(_ connection: UInt64) {
    state.withLock { state in
      for name in state.order where state.subscriptions[name]?.connection == connection {
        state.tellGap(name, self)
      }
    }
  }

  fileprivate func gapLine(_ subscription: String, from: Int64, to: Int64) -> WireBytes {
    Self.line(
      subscription,
      body(to, EventGapEvent(from: Int(from), to: Int(to)), nil))
  }
}

extension EventHub.State {
  fileprivate var oldestSequence: Int64 { next - Int64(ring.count) }

  fileprivate mutating func keep(_ event: EventHub.Event) {
    if ring.count < EventHub.ringCapacity {
      ring.append(event)
    } else {
      ring[ringStart] = event
      ringStart = (ringStart + 1) % EventHub.ringCapacity
    }
  }

  fileprivate func events(after cursor: Int64) -> [EventHub.Event] {
    (0..<ring.count).map { ring[(ringStart + $0) % ring.count] }.filter { $0.sequence > cursor }
  }

  fileprivate mutating func deliver(_ event: EventHub.Event, to name: String, _ hub: EventHub) {
    guard let subscription = subscriptions[name], subscription.started, event.sequence > subscription.cursor else {
      return
    }
    subscriptions[name]?.cursor = event.sequence
    guard subscription.wants(event) else { return }
    tellGap(name, hub)
    guard subscriptions[name]?.lostFrom == nil else { return }
    if !subscription.output.offer(EventHub.line(name, event.body(within: subscription.covered))) {
      subscriptions[name]?.lostFrom = event.sequence
      gaps += 1
    }
  }

  fileprivate mutating func tellGap(_ name: String, _ hub: EventHub) {
    guard let subscription = subscriptions[name], let from = subscription.lostFrom else { return }
    if subscription.output.offer(hub.gapLine(name, from: from, to: next - 1)) {
      subscriptions[name]?.lostFrom = nil
      subscriptions[name]?.cursor = next - 1
    }
  }

  fileprivate mutating func remove(_ name: String) {
    subscriptions[name] = nil
    order.removeAll { $0 == name }
  }
}

extension EventType {
  /// True for events without an account that a limited caller may receive: they reveal nothing about any account.
  fileprivate var tellsOfNoAccount: Bool {
    switch self {
    case .agentLocked, .agentUnlocked, .connectivityChanged, .clockSuspect, .policyChanged, .eventGap: true
    default: false
    }
  }
}
