package import AgentCore
internal import AgentModel
package import AgentPorts
internal import Synchronization

/// Whether the providers can be reached, as reported by clients, by requests to providers and by the machine, and never
/// guessed.
///
/// For each provider's host the last report counts: the host answered, or there is no way to it (its name is not found,
/// or there is no route). The state is `online` while the last report of any host is an answer, and `offline` when
/// there is no way to all of them. So a provider whose name is dead changes nothing while another answers, however
/// often the agent asks each, and the state does not swing between the two.
///
/// A host that refuses, is silent or can't be trusted reports nothing: the cause is the host itself, or a captive
/// portal. A host on a loopback address needs no network: its answer counts only while no other host has reported,
/// since then it is the only way to a provider.
///
/// When a client reports, or the machine's network changes, earlier reports of hosts count no longer. A client's report
/// then stands until the next report of a host or the next change; a change leaves `online` as it is, and turns
/// `offline` into unknown until a host has reported.
package final class ConnectivityState: Sendable {
  /// Counts client reports and network changes: a failed request of an earlier era says nothing of the network now.
  typealias Era = UInt64

  private struct State {
    var current: Connectivity
    /// By host, whether it answered. As many hosts as providers are configured.
    var answeredByHost: [String: Bool] = [:]
    var era: Era = 0
    /// By provider, for its own accounts alone: whether each host that the agent asked for it answered last.
    var hostsByProvider: [ProviderName: [String: Bool]] = [:]
    /// What a client reported since, for providers that said nothing yet.
    var report: Bool?

    mutating func forget() {
      answeredByHost = [:]
      era += 1
    }
  }

  private let events: any EventPublishing
  private let clock: any AgentClock
  private let state: Mutex<State>
  private let generationCount = Atomic<UInt64>(0)

  package init(events: any EventPublishing, clock: any AgentClock) {
    self.events = events
    self.clock = clock
    state = Mutex(State(current: Connectivity(state: .unknown, since: clock.wall(), basis: .none)))
  }

  /// Counts the occasions at which providers may have become reachable again: a pause that an account began under an
  /// earlier count no longer holds. The next caller sees it before the accounts are told.
  var reachabilityGeneration: UInt64 { generationCount.load(ordering: .acquiring) }
  package func connectivityMayHaveReturned() { generationCount.add(1, ordering: .releasing) }

  package var current: Connectivity { state.withLock { $0.current } }

  /// Whether a provider can be reached, as far as is known, for decisions about its accounts: by its own last words, and
  /// else by a client's report. That another provider answers says nothing of this one.
  func isReachable(_ provider: ProviderName) -> Bool {
    state.withLock { state in
      guard let hosts = state.hostsByProvider[provider], !hosts.isEmpty else { return state.report ?? false }
      return hosts.values.contains(true)
    }
  }

  /// Sends a request to a provider, and hears what its outcome says of the network.
  func send(
    _ request: HTTPRequest, to provider: ProviderName, through http: any HTTPExchange
  ) async -> HTTPOutcome {
    let era = state.withLock { $0.era }
    let outcome = await http.send(request)
    if let url = HTTPURL(request.url), let answered = outcome.showsReachability {
      state.withLock { state in
        if answered || era == state.era { state.hostsByProvider[provider, default: [:]][url.host] = answered }
      }
      if url.isLoopback { recordLoopback(answered) } else { record(answered, from: url.host, era) }
    }
    return outcome
  }

  private func recordLoopback(_ answered: Bool) {
    change(basis: .exchange) { state in answered && state.answeredByHost.isEmpty ? .online : nil }
  }

  private func record(_ answered: Bool, from host: String, _ era: Era) {
    change(basis: .exchange) { state in
      // An answer is proof whenever it was asked for.
      guard answered || era == state.era else { return nil }
      state.answeredByHost[host] = answered
      return state.answeredByHost.values.contains(true) ? .online : .offline
    }
  }

  /// A client tells what it knows.
  package func reported(isOnline: Bool) {
    change(basis: .report) { state in
      state.forget()
      state.hostsByProvider = [:]
      state.report = isOnline
      return isOnline ? .online : .offline
    }
  }

  /// The machine's own network changed: what was closed may be open.
  func networkChanged() {
    change(basis: .interface) { state in
      state.forget()
      // Keep the hosts that answered; of those that did not, nothing is known any more.
      state.hostsByProvider = state.hostsByProvider.mapValues { $0.filter(\.value) }
      if state.report == false { state.report = nil }
      return state.current.state == .offline ? .unknown : nil
    }
  }

  /// `decide` returns nil if nothing new is known.
  private func change(basis: Connectivity.Basis, _ decide: (inout State) -> Connectivity.State?) {
    let now = clock.wall()
    let changed = state.withLock { state -> (from: Connectivity.State, to: Connectivity)? in
      let previous = state.current.state
      guard let new = decide(&state), new != previous else { return nil }
      state.current = Connectivity(state: new, since: now, basis: basis)
      return (previous, state.current)
    }
    guard let changed else { return }
    events.publish(.connectivityChanged(changed.to, previous: changed.from))
  }
}

extension HTTPOutcome {
  /// Nil: nothing can be told from it.
  fileprivate var showsReachability: Bool? {
    switch self {
    case .response: true
    case .notConnected(.nameNotFound), .notConnected(.unreachable): false
    case .notConnected, .untrusted, .unknown: nil
    }
  }
}
