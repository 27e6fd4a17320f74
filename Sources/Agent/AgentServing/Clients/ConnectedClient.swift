internal import Agent
internal import AgentDecisions
internal import AgentPermissions
internal import AgentPorts
internal import AgentProtocol
internal import AgentRecords
internal import AgentStore
internal import JSONRPC
internal import Secrets
internal import Synchronization

/// The client of one connection: its name, its access, and its requests in flight.
final class ConnectedClient: Sendable {
  let id: UInt64
  let output: any ConnectionOutput
  let requests: RequestsInFlight
  /// The id of the client's process when it connected; nil without a socket.
  let process: Int32?
  /// `OpenConnections.nextUse` when bytes last came from the client, or its last request was answered.
  let lastUse = Atomic<UInt64>(0)
  /// True once the client asked for an operation, whose claim ends with the connection.
  let mayHaveClaims = Atomic(false)
  private let connections: OpenConnections
  private let introduced = Mutex<String??>(nil)
  private let known: Mutex<CallerAccess>
  /// True while no grant limits the client: one atomic load instead of a lock.
  private let trusted: Atomic<Bool>

  init(id: UInt64, output: any ConnectionOutput, connections: OpenConnections) {
    self.id = id
    self.output = output
    self.connections = connections
    requests = RequestsInFlight(
      limit: connections.limits.requestsInFlight, mayStart: { output.takesMoreAnswers },
      roomWasMade: { output.resumeReading() })
    process = output.peerProcess
    known = Mutex(connections.agent.callerGrants.isStrict ? .unknown : .trusted)
    trusted = Atomic(!connections.agent.callerGrants.isStrict)
  }

  /// The client's name from `agent.hello`; before that the name of its program, if the transport knows it.
  var name: String? {
    get {
      introduced.withLock { known in
        if known == nil { known = .some(output.peerName) }
        return known ?? nil
      }
    }
    set { introduced.withLock { $0 = .some(newValue) } }
  }

  // MARK: access

  /// True while no grant limits the client.
  var isTrusted: Bool { trusted.load(ordering: .acquiring) }

  /// The client's current access.
  var access: CallerAccess { isTrusted ? .trusted : known.withLock { $0 } }

  /// Sets the access; false if the connection was refused before. It stays refused, also if a grant opens meanwhile.
  @discardableResult private func set(_ access: CallerAccess) -> Bool {
    known.withLock { known in
      if case .refused = known { return false }
      known = access
      let trusts = if case .trusted = access { true } else { false }
      trusted.store(trusts, ordering: .releasing)
      return true
    }
  }

  /// Limits the connection to the grant with this secret. A client that asked to be limited is never served without a
  /// limit: while the vault is locked it has to ask again, and any other failure refuses the connection.
  func present(_ secret: Secret) throws(AgentFailure) {
    let old = access
    do throws(AgentFailure) {
      let grants = connections.agent.callerGrants
      let new = try grants.open(secret, on: id, from: old) { [weak self] in self?.refuseAll() }
      guard set(new) else { throw .caller(.grantRefused) }
      if case .limited(let limits) = new { connections.events.narrow(id, to: limits.permission, of: limits.grants) }
    } catch .locked {
      set(.unopened(within: old.limits))
      connections.events.connectionEnded(id)
      throw .locked
    } catch {
      refuseAll()
      throw error
    }
  }

  /// Refuses the connection for good. Requests that began under a limit end without an answer.
  private func refuseAll() {
    if access.limits != nil { requests.cancelAll() }
    set(.refused)
    endClaims()
    connections.agent.callerGrants.connectionEnded(id)
    connections.events.connectionEnded(id)
  }

  /// True for a request that limits the connection to a grant.
  func wouldLimit(_ name: String?, _ params: JSONNode?) -> Bool {
    guard name == AgentHello.name, let params else { return false }
    return params.kind != .object || params["grant"] != nil
  }

  /// Refuses the connection if an unserved request would have limited it.
  func unserved(_ name: String?, _ params: JSONNode?) {
    if wouldLimit(name, params) { refuseAll() }
  }

  /// Refuses the connection if an invalid request would have limited it. A member may stand there twice.
  func unserved(invalid request: JSONNode) {
    for (key, method) in request.members where key.isText("method") {
      for (key, params) in request.members where key.isText("params") { unserved(method.string, params) }
    }
  }

  /// Refuses the connection if a line that is not JSON may have had a grant: it has this method, or the name of that of a hello
  /// where no method could be read.
  func unserved(unreadable line: UnsafeRawBufferPointer, _ method: String?) {
    if method.map({ $0 == AgentHello.name }) ?? (line.firstRange(of: AgentHello.name.utf8) != nil) { refuseAll() }
  }

  /// Notes that the client is not idle.
  func used() { lastUse.store(connections.nextUse(), ordering: .relaxed) }

  private func endClaims() {
    guard mayHaveClaims.load(ordering: .acquiring) else { return }
    let (id, operations) = (id, connections.agent.operations)
    connections.agent.background.start { await operations.claims.connectionEnded(id) }
  }

  /// The client is gone: cancels its requests and ends its subscriptions.
  func ended() {
    requests.abandon()
    endClaims()
    connections.events.connectionEnded(id)
    connections.agent.callerGrants.connectionEnded(id)
  }
}
