public import AgentModel
public import AgentPorts
internal import LoopbackHTTP
public import PracticeProvider
internal import Secrets
internal import Synchronization

/// Carries requests to providers in memory and in virtual time, with the faults that a scenario plans.
///
///     network.next("/token", .lostAnswer(.timedOut))     // processed, but the response is lost
///     network.isOnline = false                           // no name resolves
///     network.count("/token")                            // how many requests were sent there
public final class SimulatedNetwork: HTTPExchange {
  /// A request that was sent.
  public struct Sent: Sendable, Equatable {
    public var method: String
    public var url: String
    /// The path below the host: `/token`.
    public var path: String
    public var at: BootInstant
    /// The refresh token in the form, if there is one: scenarios check which token was spent.
    public var refreshToken: String?
  }

  fileprivate struct Planned {
    var path: String
    var host: String?
    var incident: Incident
    /// Nil: all later requests.
    var left: Int?
  }

  fileprivate struct State {
    var providers: [PracticeProvider] = []
    var planned: [Planned] = []
    var sent: [Sent] = []
    /// Requests in flight by host and path: now, and at most.
    var currentExchange: [String: (now: Int, most: Int)] = [:]
    var latency: ClosedRange<Int64>
    var isOnline = true
  }
  private let state: Mutex<State>
  private let clock: VirtualClock
  private let chance: SeededEntropy

  /// - Parameter latency: of one way; the way back takes another.
  public init(clock: VirtualClock, seed: UInt64, latency: ClosedRange<Int64> = 5...40) {
    self.clock = clock
    chance = SeededEntropy(seed: seed)
    state = Mutex(State(latency: latency))
  }

  /// Of every server the same.
  public static let pinOfServers = "sha256/c2ltdWxhdGVkIHNlcnZlciwgc2ltdWxhdGVkIGtleSE="

  public func serverKey(for request: AgentPorts.HTTPRequest) async -> ServerKey {
    isOnline ? .pin(Self.pinOfServers) : .failed(.notConnected(.nameNotFound))
  }

  // MARK: what a scenario plans

  /// Makes a provider reachable under its issuer.
  public func attach(_ provider: PracticeProvider) { state.withLock { $0.providers.append(provider) } }

  /// Milliseconds for one way, drawn anew for each.
  public var latency: ClosedRange<Int64> {
    get { state.withLock { $0.latency } }
    set { state.withLock { $0.latency = newValue } }
  }

  /// While false, no name resolves.
  public var isOnline: Bool {
    get { state.withLock { $0.isOnline } }
    set { state.withLock { $0.isOnline = newValue } }
  }

  /// Plans a fault for the next requests to a path, of one host or of any; with `times` nil for all later ones.
  public func next(_ path: String, _ incident: Incident, host: String? = nil, times: Int? = 1) {
    state.withLock { $0.planned.append(Planned(path: path, host: host, incident: incident, left: times)) }
  }

  public func clearIncidents() { state.withLock { $0.planned = [] } }

  /// Requests that were sent, also those that found no connection.
  public var sent: [Sent] { state.withLock { $0.sent } }

  public func count(_ path: String, host: String? = nil) -> Int {
    sent.filter { $0.path == path && (host == nil || HTTPURL($0.url)?.host == host) }.count
  }

  /// The highest number of requests to a path that were in flight at the same time.
  public func mostAtOnce(_ path: String, host: String) -> Int {
    state.withLock { $0.currentExchange[host + path]?.most ?? 0 }
  }

  /// The sum over all hosts.
  public func mostAtOnce(_ path: String) -> Int { state.withLock { $0.currentExchange[path]?.most ?? 0 } }

  // MARK: carrying

  public func send(_ request: AgentPorts.HTTPRequest) async -> HTTPOutcome {
    guard let url = HTTPURL(request.url) else { return .notConnected(.invalidURL) }
    let places = [url.path, url.host + url.path]
    state.withLock { $0.depart(places) }
    defer { state.withLock { $0.arrive(places) } }
    return await carry(request)
  }

  private func carry(_ request: AgentPorts.HTTPRequest) async -> HTTPOutcome {
    let startedAt = clock.boot()
    let deadline = startedAt + request.timeout
    guard let url = HTTPURL(request.url) else { return .notConnected(.invalidURL) }
    let asReceived = LoopbackHTTP.HTTPRequest(request)
    let refreshToken = asReceived.formItems.first { $0.name == "refresh_token" }?.value
    let sent = Sent(method: request.method, url: request.url, path: url.path, at: startedAt, refreshToken: refreshToken)
    let incident = state.withLock { state in
      // A request that asks before it is sent is recorded when it is.
      if request.beforeSending == nil { state.sent.append(sent) }
      return state.isOnline ? state.takeIncident(url) : .notConnected(.nameNotFound)
    }
    await travel(until: deadline)
    switch incident {
    case .notConnected(let failure):
      if request.beforeSending != nil { state.withLock { $0.sent.append(sent) } }
      return .notConnected(failure)
    case .untrusted(let reason):
      if request.beforeSending != nil { state.withLock { $0.sent.append(sent) } }
      return .untrusted(reason)
    case .heldWhileConnecting(let gate): await hold(gate, until: deadline)
    default: break
    }
    var sentAt = startedAt
    if let beforeSending = request.beforeSending {
      // The connection stands. A provider that is not there takes none.
      if !incident.isAnsweredElsewhere, state.withLock({ $0.provider(for: url) }) == nil {
        state.withLock { $0.sent.append(sent) }
        return .notConnected(.refused)
      }
      guard !Task.isCancelled, clock.boot() < deadline else { return .notConnected(.timedOut) }
      guard await beforeSending() else { return .notConnected(.withheld) }
      guard !Task.isCancelled, clock.boot() < deadline else { return .notConnected(.timedOut) }
      sentAt = clock.boot()
      state.withLock { $0.sent.append(sent) }
      await travel(until: deadline)
    }
    switch incident {
    case .lostRequest(let lost): return await lose(lost, deadline)
    case .delay(let more): await clock.sleep(until: min(deadline, clock.boot() + more))
    case .heldBefore(let gate): await hold(gate, until: deadline)
    case .intercepted(let status, let fields, let body):
      return answer(status, fields, Array(body.utf8), request, sentAt)
    case .lostAnswer, .cutAnswer, .heldAfter, .heldWhileConnecting, .notConnected, .untrusted, nil: break
    }
    if let gone = gone(deadline) { return gone }
    guard let provider = state.withLock({ $0.provider(for: url) }) else { return .notConnected(.refused) }
    let reply = provider.handle(asReceived)
    if case .lostAnswer(let lost) = incident { return await lose(lost, deadline) }
    if case .heldAfter(let gate) = incident { await hold(gate, until: deadline) }
    await travel(until: deadline)
    if let gone = gone(deadline) { return gone }
    let outcome = await outcome(of: reply, request, sentAt, deadline)
    guard case .cutAnswer(let lost, let arriving) = incident, case .response(var partial) = outcome else {
      return outcome
    }
    partial.body = partial.body.withBytes { body in
      let count = arriving(String(decoding: body, as: UTF8.self))
      return Secret(copying: UnsafeRawBufferPointer(rebasing: body.prefix(count)))
    }
    if lost == .timedOut { await clock.sleep(until: deadline) }
    return Task.isCancelled ? .unknown(.cancelled) : .unknown(lost, partial: partial)
  }

  private func travel(until deadline: BootInstant) async {
    let milliseconds = chance.number(in: latency)
    if milliseconds > 0 { await clock.sleep(until: min(deadline, clock.boot() + Milliseconds(milliseconds))) }
  }

  private func lose(_ lost: HTTPOutcome.LostResponse, _ deadline: BootInstant) async -> HTTPOutcome {
    if lost == .timedOut { await clock.sleep(until: deadline) }
    return .unknown(Task.isCancelled ? .cancelled : lost)
  }

  private func gone(_ deadline: BootInstant) -> HTTPOutcome? {
    if Task.isCancelled { return .unknown(.cancelled) }
    return clock.boot() >= deadline ? .unknown(.timedOut) : nil
  }

  private func hold(_ gate: Gate, until deadline: BootInstant) async {
    await withTaskGroup(of: Void.self) { [clock] group in
      group.addTask { await gate.pass() }
      group.addTask { await clock.sleep(until: deadline) }
      await group.next()
      group.cancelAll()
    }
  }

  private func outcome(
    of reply: HTTPReply, _ request: AgentPorts.HTTPRequest, _ sentAt: BootInstant, _ deadline: BootInstant
  ) async -> HTTPOutcome {
    switch reply {
    case .respond(let response, let delay):
      await clock.sleep(until: min(deadline, clock.boot() + Milliseconds(Int64(delay))))
      return gone(deadline) ?? answer(response.status, response.headers, response.body, request, sentAt)
    case .drop(let delay, _):
      await clock.sleep(until: min(deadline, clock.boot() + Milliseconds(Int64(delay))))
      return gone(deadline) ?? .unknown(.reset)
    case .hang: return await lose(.timedOut, deadline)
    case .truncate(let response, let bodyBytes):
      let arrived = Array(response.body.prefix(bodyBytes))
      guard case .response(let partial) = answer(response.status, response.headers, arrived, request, sentAt),
        !arrived.isEmpty
      else { return .unknown(.reset) }
      return .unknown(.reset, partial: partial)
    case .endlessBody: return .unknown(.tooLarge)
    case .raw: return .unknown(.malformed)
    // No provider streams.
    case .stream: return await lose(.timedOut, deadline)
    }
  }

  private func answer(
    _ status: Int, _ fields: [(name: String, value: String)], _ body: [UInt8], _ request: AgentPorts.HTTPRequest,
    _ sentAt: BootInstant
  ) -> HTTPOutcome {
    guard body.count <= request.maximumResponseBytes else { return .unknown(.tooLarge) }
    return .response(
      AgentPorts.HTTPResponse(
        status: status, fields: fields, body: body.withUnsafeBytes { Secret(copying: $0) }, sentAt: sentAt,
        receivedAt: clock.boot()))
  }
}

extension Incident? {
  /// The request never comes to its provider.
  fileprivate var isAnsweredElsewhere: Bool {
    switch self {
    case .intercepted, .lostRequest: true
    default: false
    }
  }
}

extension SimulatedNetwork.State {
  fileprivate mutating func depart(_ places: [String]) {
    for place in places {
      let now = (currentExchange[place]?.now ?? 0) + 1
      currentExchange[place] = (now, max(now, currentExchange[place]?.most ?? 0))
    }
  }

  fileprivate mutating func arrive(_ places: [String]) {
    for place in places { currentExchange[place]?.now -= 1 }
  }

  fileprivate mutating func takeIncident(_ url: HTTPURL) -> Incident? {
    let place = planned.firstIndex { $0.path == url.path && ($0.host == nil || $0.host == url.host) }
    guard let place else { return nil }
    let incident = planned[place].incident
    if let left = planned[place].left {
      if left > 1 { planned[place].left = left - 1 } else { planned.remove(at: place) }
    }
    return incident
  }

  /// The provider by origin; if several share it, the one whose issuer has the longest matching path.
  fileprivate func provider(for url: HTTPURL) -> PracticeProvider? {
    providers.compactMap { provider -> (PracticeProvider, Int)? in
      guard let issuer = HTTPURL(provider.issuer), issuer.origin == url.origin else { return nil }
      let path = issuer.path == "/" ? "" : issuer.path
      return path.isEmpty || url.path.hasPrefix(path + "/") || url.path.hasSuffix(path)
        ? (provider, path.utf8.count) : nil
    }.max { $0.1 < $1.1 }?.0
  }
}

extension LoopbackHTTP.HTTPRequest {
  fileprivate init(_ request: AgentPorts.HTTPRequest) {
    let headers = request.fields.map { field in
      switch field.value {
      case .text(let text): (name: field.name, value: text)
      case .secret(let secret): (name: field.name, value: secret.withBytes { String(decoding: $0, as: UTF8.self) })
      }
    }
    let target = request.target?.withBytes { String(decoding: $0, as: UTF8.self) }
    let url = target.flatMap { target in HTTPURL(request.url).map { $0.origin + target } } ?? request.url
    self.init(method: request.method, url: url, headers: headers, body: request.body?.withBytes { [UInt8]($0) } ?? [])
  }
}
