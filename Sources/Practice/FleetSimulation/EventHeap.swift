/// An event of one agent. Events of one moment come in the order in which they were planned.
struct FleetEvent {
  enum Kind: UInt8 {
    /// A program of the agent's machine asks for a token.
    case ask
    /// A pause is over.
    case rest
    /// `RenewalPlan` looks whether to renew.
    case renewal
    /// `ExchangeQueue` looks for what may go.
    case queue
    /// The provider's answer to a refresh, or its absence.
    case answer
    case wake
    /// A program asks for an ID token.
    case identity
    /// The key set came, or did not.
    case keys
    /// The fleet's tool tells the agent to sign out.
    case signOut
    /// The outbox sends a revocation.
    case revocation
    case revocationAnswer
    /// The person finishes a sign-in in the browser.
    case signIn
    case signInAnswer
    /// A program's request was refused with the token that it had.
    case rejected
    /// `BundlePolling` looks whether to ask the policy server.
    case policy
    case policyAnswer
    /// A naive client tries again.
    case retry
    /// The answer to a sign of life.
    case probe
  }

  var at: Int64
  var order: UInt64
  var agent: Int32
  /// Events with an old number are void.
  var stamp: UInt32
  var kind: Kind
  var result: ProviderResult = .served
}

/// A binary heap: the earliest event first.
struct EventHeap {
  private var events: [FleetEvent] = []
  private var orders: UInt64 = 0

  mutating func plan(
    _ kind: FleetEvent.Kind, of agent: Int, at moment: Int64, stamp: UInt32 = 0, result: ProviderResult = .served
  ) {
    orders += 1
    let event = FleetEvent(at: moment, order: orders, agent: Int32(agent), stamp: stamp, kind: kind, result: result)
    events.append(event)
    var child = events.count - 1
    while child > 0 {
      let parent = (child - 1) / 2
      guard Self.precedes(event, events[parent]) else { break }
      events[child] = events[parent]
      child = parent
    }
    events[child] = event
  }

  mutating func next() -> FleetEvent? {
    guard let first = events.first, let last = events.popLast() else { return nil }
    guard !events.isEmpty else { return first }
    var parent = 0
    while true {
      var child = 2 * parent + 1
      guard child < events.count else { break }
      if child + 1 < events.count, Self.precedes(events[child + 1], events[child]) { child += 1 }
      guard Self.precedes(events[child], last) else { break }
      events[parent] = events[child]
      parent = child
    }
    events[parent] = last
    return first
  }

  private static func precedes(_ a: FleetEvent, _ b: FleetEvent) -> Bool {
    a.at == b.at ? a.order < b.order : a.at < b.at
  }
}
