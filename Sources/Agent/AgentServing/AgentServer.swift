public import Agent
public import AgentModel
public import AgentPorts
internal import AgentProtocol
public import AgentSessions
internal import AgentStore
internal import AgentUpkeep
public import JSONRPC
public import Secrets
internal import Synchronization

/// The agent on the wire: serves conversations of any transport.
///
///     let server = AgentServer(store: store, keySource: keyFile, environment: environment, version: "1.0.0")
///     _ = try await server.open(protection: "keyFile")
///     await server.run()          // until shutDown()
public final class AgentServer: ConversationHost {
  package let agent: AgentService
  let events: EventHub
  let methods = ServedMethods.all
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

  /// The client of an open connection. The connection owns it, and it owns this server: a strong reference would keep
  /// both of a connection that the transport drops without `ended()`, as at the end of a simulated process.
  private struct OpenClient {
    weak var client: ConnectedClient?
  }

  /// - Parameters:
  ///   - ownerGrant: the owner's grant, which covers everything and is never stored; every caller then needs a grant.
  ///     Nil: programs of the agent's own user are trusted.
  ///   - onShutDown: called once, when `agent.shutdown` was answered or `shutDown()` was called: the transport ends then.
  public init(
    store: sending any Store, keySource: (any KeySource)?, otherKeySources: [any KeySource] = [],
    anchor: (any RollbackAnchor)? = nil, environment: AgentEnvironment, version: String,
    ownerGrant: Secret? = nil, locking: LockingRules = LockingRules(), limits: ServingLimits = ServingLimits(),
    onShutDown: @escaping @Sendable () -> Void = {}
  ) {
    self.limits = limits
    clients = Mutex(Clients(places: ConnectionPlaces(limit: limits.connections)))
    let instance = "run_" + Base32.encode(environment.entropy.bytes(16))
    events = EventHub(epoch: instance, clock: environment.clock)
    agent = AgentService(
      store: store, keySource: keySource, otherKeySources: otherKeySources, anchor: anchor, environment: environment,
      version: version, instance: instance, events: events, grantableMethods: ServedMethods.grantable,
      ownerGrant: ownerGrant,
      documents: { [signer = environment.keys] in AdministratorDocuments.read($0, signer: signer) },
      locking: locking, onShutDown: onShutDown)
  }

  /// The state of the vault after the agent's start.
  public enum Opening: Sendable, Equatable {
    case open
    /// A person must give the passphrase, by `agent.unlock`, or create the vault by `agent.initialize`.
    case locked
  }

  /// The vault can't be opened. A message gives a person the reason.
  public enum StartFailure: Error, Sendable {
    case store(StoreFailure)
    case vault(String)
    /// Memory or a file beside the store is missing, and the vault may be sound.
    case unavailable(String)
  }

  /// Opens the vault if that needs no person.
  ///
  /// - Parameter acceptingOldStore: the person says that a store which is older than its anchor is the only one: every
  ///   account in it is signed out, and no token of it is sent.
  /// - Throws: `StartFailure` if the vault can't be opened.
  public func open(
    protection: String, passphrase: Secret? = nil, acceptingOldStore: Bool = false
  ) async throws(StartFailure) -> Opening {
    do throws(AgentFailure) {
      let isOpen = try await agent.open(
        protection: protection, passphrase: passphrase, acceptingOldStore: acceptingOldStore)
      return isOpen ? .open : .locked
    } catch {
      if let failure = error.storeFailure { throw .store(failure) }
      throw error.kind == .storeUnavailable ? .unavailable(error.message) : .vault(error.message)
    }
  }

  /// The time until `open` judges a passphrase, after wrong ones that an earlier agent was given; nil if it does now.
  public func pauseBeforePassphrase() async -> Milliseconds? { await agent.vault.pauseBeforePassphrase }

  /// Serves until `shutDown()`; returns when everything in flight has ended.
  public func run() async { await agent.run() }

  /// Accepts no new work and refuses the waiters; exchanges in flight run to their end, so that no answer is lost.
  public func shutDown() { agent.shutDown() }

  // MARK: conversations

  public func begin(_ output: any ConnectionOutput) -> (any Conversation)? {
    let (client, leaving) = clients.withLock { clients -> (ConnectedClient?, ConnectedClient?) in
      clients.next += 1
      let client = ConnectedClient(id: clients.next - 1, output: output, server: self)
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
    return client.map { Connection($0, server: self) }
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

  func connectionEnded(_ id: UInt64) {
    clients.withLock { clients in
      clients.places.leave(id)
      clients.open[id] = nil
      clients.hasTold = false
    }
  }

  /// A finding if few places are left, with the process that holds the most.
  func connectionFindings() -> [Finding] {
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

  var connectionCount: Int { clients.withLock { $0.places.count } }

  /// Orders the uses of connections; no clock, so that the fast path reads none.
  func nextUse() -> UInt64 { uses.wrappingAdd(1, ordering: .relaxed).newValue }

  public var refusalLine: WireBytes {
    var object = AnswerObject.error(id: nil, .overloaded("connections"))
    object.byte(0x0A)
    return object.finish()
  }
}
