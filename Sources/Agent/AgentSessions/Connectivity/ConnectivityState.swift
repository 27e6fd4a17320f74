package import AgentCore
package import AgentModel
internal import AgentPorts
internal import AgentRecords
internal import AgentStore
internal import Synchronization

/// Whether the providers can be reached, as reported by clients, by requests to providers and by the machine, and never
/// guessed.
///
/// For each provider's host the last report counts: the host answered, or it is unreachable (its name is not found, or
/// there is no route). The state is `online` while the last report of any host is an answer, and `offline` when all
/// hosts are unreachable. So a provider whose name is not found changes nothing while another one answers, and the
/// state does not alternate.
///
/// A host that refuses, is silent or can't be trusted reports nothing: the cause is the host itself, or a captive
/// portal. A host on a loopback address needs no network: its answer counts only while no other host has reported,
/// since then it is the only provider that the agent reached.
///
/// When a client reports, or the machine's network changes, earlier reports of hosts count no longer. A client's report
/// then stands until the next report of a host or the next change; a change of the network leaves `online` as it is,
/// and turns `offline` into unknown until a host has reported.
package final class ConnectivityState: Sendable {
  /// Counts client reports and network changes: a failed request of an earlier era says nothing of the network now.
  typealias Era = UInt64

  private struct State {
    var current: Connectivity
    /// The last report by host: true if it answered. At most one entry for each host of a configured provider.
    var answeredByHost: [String: Bool] = [:]
    var era: Era = 0
    /// The last reports by provider and host, for decisions about that provider's accounts.
    var hostsByProvider: [ProviderName: [String: Bool]] = [:]
    /// The last client report, for providers without a report of a host; nil if there is none.
    var report: Bool?

    mutating func forget() {
      answeredByHost = [:]
      era += 1
    }
  }

  private let events: any EventPublishing
  private let clock: any AgentClock
  private let state: Mutex<State>
  private let decisions: DecisionCache
  private let generationCount = Atomic<UInt64>(0)
  /// Called when the state becomes `online`.
  private let cameOnline: @Sendable () -> Void

  init(
    events: any EventPublishing, clock: any AgentClock, decisions: DecisionCache = DecisionCache(),
    cameOnline: @escaping @Sendable () -> Void = {}
  ) {
    self.cameOnline = cameOnline
    self.events = events
    self.clock = clock
    self.decisions = decisions
    state = Mutex(State(current: Connectivity(state: .unknown, since: clock.wall(), basis: .none)))
  }

  /// Counts the occasions at which providers may have become reachable again: a pause that an account began under an
  /// earlier count no longer holds. The next caller reads the new count, also before the accounts are notified.
  var reachabilityGeneration: UInt64 { generationCount.load(ordering: .acquiring) }
  package func connectivityMayHaveReturned() { generationCount.add(1, ordering: .releasing) }

  package var current: Connectivity { state.withLock { $0.current } }

  /// Whether a provider can be reached, for decisions about its accounts: by the last reports of its own hosts, else by
  /// the last client report. Answers of another provider do not count.
  func isReachable(_ provider: ProviderName) -> Bool {
    state.withLock { state in
      guard let hosts = state.hostsByProvider[provider], !hosts.isEmpty else { return state.report ?? false }
      return hosts.values.contains(true)
    }
  }

  /// False while a client's report says that there is no network, and no host of the provider has reported since.
  package func mayBeTried(_ provider: ProviderName) -> Bool {
    state.withLock { state in
      guard let hosts = state.hostsByProvider[provider], !hosts.isEmpty else { return state.report ?? true }
      return true
    }
  }

  /// True if the provider's hosts, or a client, said last that it can't be reached.
  package func isUnreachable(_ provider: ProviderName) -> Bool {
    state.withLock { state in
      guard let hosts = state.hostsByProvider[provider], !hosts.isEmpty else { return state.report == false }
      return !hosts.values.contains(true)
    }
  }

  /// The providers whose hosts said last that they can't be reached, sorted.
  package var unreachable: [ProviderName] {
    state.withLock { state in
      state.hostsByProvider.filter { !$0.value.isEmpty && !$0.value.values.contains(true) }.keys.sorted()
    }
  }

  /// A provider was removed: what its hosts reported says nothing of the others.
  package func removed(_ provider: ProviderName) {
    change(basis: .none) { state in
      guard let gone = state.hostsByProvider.removeValue(forKey: provider) else { return nil }
      let others = Set(state.hostsByProvider.values.flatMap(\.keys))
      for host in gone.keys where !others.contains(host) { state.answeredByHost[host] = nil }
      let isOfHosts = state.current.state == .offline && state.current.basis == .exchange
      return isOfHosts && state.answeredByHost.isEmpty ? .unknown : nil
    }
  }

  /// Sends a request to a provider, and records whether its host answered.
  func send(
    _ request: HTTPRequest, to provider: ProviderName, through http: any HTTPExchange
  ) async -> HTTPOutcome {
    let era = state.withLock { $0.era }
    let outcome = await http.send(request)
    if let url = HTTPURL(request.url), let answered = outcome.showsReachability {
      state.withLock { state in
        guard answered || era == state.era else { return }
        let before = state.hostsByProvider[provider, default: [:]].updateValue(answered, forKey: url.host)
        if before != answered { decisions.withdrawAll() }
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
      // An answer is proof also if its request was sent in an earlier era.
      guard answered || era == state.era else { return nil }
      state.answeredByHost[host] = answered
      return state.answeredByHost.values.contains(true) ? .online : .offline
    }
  }

  /// Records a client's report.
  package func reported(isOnline: Bool) {
    change(basis: .report) { state in
      state.forget()
      state.hostsByProvider = [:]
      state.report = isOnline
      decisions.withdrawAll()
      return isOnline ? .online : .offline
    }
  }

  /// The machine's network changed: unreachable hosts may be reachable now.
  package func networkChanged() {
    change(basis: .interface) { state in
      state.forget()
      // Keep the reports of hosts that answered; drop those of unreachable hosts.
      state.hostsByProvider = state.hostsByProvider.mapValues { $0.filter(\.value) }
      if state.report == false { state.report = nil }
      decisions.withdrawAll()
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
    if changed.to.state == .online { cameOnline() }
  }
}

extension HTTPOutcome {
  /// True if the host answered, false if it is unreachable; nil if the outcome shows neither.
  fileprivate var showsReachability: Bool? {
    switch self {
    case .response: true
    case .notConnected(let failure): failure.isWithoutWay ? false : nil
    case .untrusted, .unknown: nil
    }
  }
}
