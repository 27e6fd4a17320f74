internal import Agent
internal import AgentPorts
internal import AgentSessions
internal import AgentUpkeep
internal import Synchronization

/// The open connections and what they share: the agent, its events, the limits. Decides which connections get a place.
final class OpenConnections: Sendable {
  let agent: AgentService
  let events: EventHub
  let limits: ServingLimits
  private let clients: Mutex<Clients>
  private let uses = Atomic<UInt64>(0)

  private struct Clients {
    var places: ConnectionPlaces
    var open: [UInt64: OpenClient] = [:]
    var next: UInt64 = 1
    /// The log tells the holder of the places once, until one is free again.
    var hasTold = false
  }

  /// The client of an open connection. The connection owns it, and it owns this: a strong reference would keep both of a
  /// connection that the transport drops without `ended()`, as at the end of a simulated process.
  private struct OpenClient {
    weak var client: ConnectedClient?
  }

  init(agent: AgentService, events: EventHub, limits: ServingLimits) {
    (self.agent, self.events, self.limits) = (agent, events, limits)
    clients = Mutex(Clients(places: ConnectionPlaces(limit: limits.connections)))
  }

  /// The client of a new connection; nil if there is no place for it.
  func admit(_ output: any ConnectionOutput) -> ConnectedClient? {
    let (client, leaving) = clients.withLock { clients -> (ConnectedClient?, ConnectedClient?) in
      clients.next += 1
      let client = ConnectedClient(id: clients.next - 1, output: output, connections: self)
      let verdict = clients.places.admit(client.id, process: client.process, isOwners: { output.isOwnersCommandLine }) {
        idleLongest(of: clients.open, where: $0)
      }
      guard verdict != .refused else {
        if !clients.hasTold { tellHolder(clients.places) }
        clients.hasTold = true
        return (nil, nil)
      }
      client.used()
      clients.open[client.id] = OpenClient(client: client)
      guard case .inPlaceOf(let id) = verdict else { return (client, nil) }
      return (client, clients.open.removeValue(forKey: id)?.client)
    }
    leaving?.output.leave()
    return client
  }

  /// The connection that was idle longest: nothing in flight, nothing unread, no subscription.
  private func idleLongest(of open: [UInt64: OpenClient], where fits: (UInt64) -> Bool) -> UInt64? {
    let subscribers = events.subscribers
    return open.values.compactMap(\.client).filter {
      fits($0.id) && $0.requests.isEmpty && !subscribers.contains($0.id)
    }
    .sorted { $0.lastUse.load(ordering: .relaxed) < $1.lastUse.load(ordering: .relaxed) }
    .first { !$0.output.hasUnreadInput }?.id
  }

  private func tellHolder(_ places: ConnectionPlaces) {
    var fields: [(LogField, LogValue)] = [(.count, .number(Int64(places.count)))]
    if let holder = places.largestHolder { fields.append((.process, .number(Int64(holder.process)))) }
    agent.environment.log.log(.warning, "connectionsFull", fields)
  }

  /// Gives its place back.
  func ended(_ id: UInt64) {
    clients.withLock { clients in
      clients.places.leave(id)
      clients.open[id] = nil
      clients.hasTold = false
    }
  }

  /// A finding if few places are left, with the process that holds the most.
  func findings() -> [Finding] {
    let (count, largest, one) = clients.withLock { clients in
      let holder = clients.places.largestHolder
      return (
        clients.places.count, holder,
        clients.open.values.lazy.compactMap(\.client).first { $0.process == holder?.process }
      )
    }
    guard let holder = largest else { return [] }
    let held = HeldConnections(
      process: holder.process, name: one?.output.peerName, count: holder.count, limit: ConnectionPlaces.ofOneProcess)
    return held.findings(among: count, of: limits.connections)
  }

  /// How many are open.
  var count: Int { clients.withLock { $0.places.count } }

  /// Orders the uses of connections; no clock, so that the fast path reads none.
  func nextUse() -> UInt64 { uses.wrappingAdd(1, ordering: .relaxed).newValue }
}
