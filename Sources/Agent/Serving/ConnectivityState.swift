internal import AgentModel
internal import AgentPorts
internal import AgentProtocol
internal import Synchronization

/// What is known of the way to the providers: told by clients and by exchanges, never guessed.
final class ConnectivityState: Sendable {
  private let events: EventHub
  private let clock: any AgentClock
  private let state: Mutex<WireConnectivity>

  init(events: EventHub, clock: any AgentClock) {
    self.events = events
    self.clock = clock
    state = Mutex(WireConnectivity(state: .unknown, since: clock.wall(), basis: .none))
  }

  var current: WireConnectivity { state.withLock { $0 } }

  func report(_ new: WireConnectivityState, basis: WireConnectivityBasis) {
    let since = clock.wall()
    let previous = state.withLock { state -> WireConnectivityState? in
      guard state.state != new else { return nil }
      defer { state = WireConnectivity(state: new, since: since, basis: basis) }
      return state.state
    }
    guard let previous else { return }
    events.publish(ConnectivityChangedEvent(state: new, previous: previous, basis: basis))
  }
}
