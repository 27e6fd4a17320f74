internal import AgentModel
internal import AgentSimulation
internal import Foundation
internal import Glibc
internal import Threads

/// The agent's machine and the connections to it, and the waiting for both without a fixed time.
final class Stage {
  /// The time that `wait` allows for results that need no virtual time: enough for a busy machine.
  private static let patienceSeconds = 30.0

  let transport: Transport
  /// Chooses the schedule of the agent's tasks, and its ids.
  private let seed: UInt64
  private let clockStart: Timestamp
  private let wakeUp = WakeUp()
  /// From the first step that needs it.
  private(set) var machine: Machine?
  /// The connections by name, closed ones too until the agent ends.
  private(set) var clients: [String: TranscriptClient] = [:]

  init(transport: Transport, seed: UInt64, clockStart: Timestamp) {
    (self.transport, self.seed, self.clockStart) = (transport, seed, clockStart)
  }

  // MARK: the agent

  /// The machine, with a running agent.
  @discardableResult
  func running() throws -> Machine {
    let machine = made()
    try machine.start()
    return machine
  }

  /// The machine; its agent may not run.
  @discardableResult
  func made(protection: String = "keyFile", ownerGrant: String? = nil) -> Machine {
    if let machine { return machine }
    let new = Machine(
      seed: seed, start: clockStart, protection: protection, ownerGrant: ownerGrant,
      transport: transport, wakeUp: wakeUp)
    machine = new
    return new
  }

  /// Stops the agent. Every connection ends with it; their clients stay until `forgetClients`.
  func stop(killed: Bool) throws {
    if killed { closeAll() }
    try machine?.stop(killed: killed) { try wait($0, until: $1) }
    closeAll()
  }

  func end() {
    closeAll()
    try? machine?.end { try? wait($0, until: $1) }
  }

  func advance(by duration: Milliseconds) throws {
    let machine = try running()
    machine.world.advance(by: duration)
    try machine.endpoint?.judgeDeadlines { try wait($0, until: $1) }
  }

  // MARK: connections

  /// The open connection of this name.
  func client(_ name: String) throws -> TranscriptClient {
    guard let client = clients[name] else { throw Unreadable("there is no connection \(name); @open it first") }
    return client
  }

  func open(_ name: String) throws {
    if let old = clients[name] {
      guard old.isClosed || old.wire.hasEnded else { throw Unreadable("\(name) is open already") }
      old.close()
    }
    guard let endpoint = try running().endpoint else { throw Unreadable("no agent runs") }
    clients[name] = TranscriptClient(try endpoint.open { try wait($0, until: $1) })
  }

  private func closeAll() {
    for client in clients.values { client.close() }
  }

  func forgetClients() { clients = [:] }

  // MARK: waiting

  /// Waits until everything that needs no virtual time has happened.
  func settle() throws {
    try wait("all to be quiet") { self.isQuiet }
  }

  private var isQuiet: Bool {
    // In this order: input is read before it starts tasks, and tasks end before their output is counted.
    let open = clients.values.filter { !$0.isClosed }
    guard open.allSatisfy({ $0.hasTakenAll }) else { return false }
    machine?.world.settle()
    for client in open { client.read() }
    return open.allSatisfy { $0.hasReceivedAll }
  }

  /// Checks `condition` whenever something moved, until it holds.
  func wait(_ what: String, until condition: () -> Bool) throws {
    let deadline = ProcessInfo.processInfo.systemUptime + Self.patienceSeconds
    while true {
      wakeUp.clear()
      machine?.world.settle()
      machine?.stopTransportIfShutDown()
      for client in clients.values { client.read() }
      if condition() { return }
      guard ProcessInfo.processInfo.systemUptime < deadline else {
        throw Unreadable("waited \(Int(Self.patienceSeconds)) s for \(what)")
      }
      var ready = [pollfd(fd: wakeUp.descriptor, events: Int16(POLLIN), revents: 0)]
      ready += clients.values.map {
        pollfd(fd: $0.isClosed ? -1 : $0.wire.descriptor, events: Int16(POLLIN), revents: 0)
      }
      _ = poll(&ready, nfds_t(ready.count), 1000)
    }
  }
}
