internal import AgentModel
internal import AgentPorts
internal import AgentServing
internal import AgentSimulation
internal import PracticeProvider
internal import Synchronization
internal import Threads

/// The machine of one run: the simulated world, its agent, and the endpoint for clients.
///
/// Providers answer without delay unless a transcript says otherwise, so that a script need not advance its clock.
final class Machine {
  let world: SimulatedWorld
  let log = RecordingLog()
  let directories = Directories()
  private(set) var endpoint: AgentEndpoint?
  private(set) var providers: [String: SimulatedProvider] = [:]
  /// Providers that a directive added to the agent.
  var configured: Set<String> = []
  private let transport: Transport
  private let wakeUp: WakeUp
  private let isEnding: EndingFlag

  private final class EndingFlag: Sendable {
    let value = Atomic(false)
  }

  init(
    seed: UInt64, start: Timestamp, protection: String, ownerGrant: String?, transport: Transport,
    wakeUp: WakeUp
  ) {
    let isEnding = EndingFlag()
    self.isEnding = isEnding
    self.transport = transport
    self.wakeUp = wakeUp
    world = SimulatedWorld(
      seed: seed, start: start, protection: protection, ownerGrant: ownerGrant, log: log, directories: directories,
      onShutDown: {
        isEnding.value.store(true, ordering: .relaxed)
        wakeUp.signal()
      })
    world.network.latency = 0...0
  }

  func provider(_ name: String) -> SimulatedProvider {
    if let known = providers[name] { return known }
    let made = world.makeProvider(name)
    providers[name] = made
    return made
  }

  // MARK: the agent's life

  /// Starts the agent if none runs, and opens the endpoint.
  func start() throws {
    guard endpoint == nil else { return }
    isEnding.value.store(false, ordering: .relaxed)
    if !world.isRunning {
      let world = world
      try world.drive { try await world.restart() }
    }
    let host = TappedHost(world.server, onChange: { [wakeUp] in wakeUp.signal() })
    endpoint = AgentEndpoint(transport, host: host, clock: world.clock, wakeUp: wakeUp)
  }

  /// Performs what `lanyard-agent` does when the agent shuts down by itself.
  func stopTransportIfShutDown() {
    if isEnding.value.exchange(false, ordering: .relaxed) { endpoint?.stop() }
  }

  /// Closes the endpoint and with it every connection; ends the agent too, in order or by a crash.
  func stop(killed: Bool, waiting: (String, () -> Bool) throws -> Void) throws {
    if killed {
      world.crash()
    } else if world.isRunning {
      world.server.shutDown()
      try waiting("the agent to end") { !world.isRunning }
    }
    try endpoint?.end(waiting: waiting)
    endpoint = nil
  }

  func end(waiting: (String, () -> Bool) throws -> Void) throws {
    guard endpoint != nil else { return }
    world.crash()
    endpoint?.stop()
    // A client may wait for a provider that hangs: lets time pass until the agent's timeouts end it.
    world.advance(by: .seconds(600))
    try endpoint?.judgeDeadlines(waiting: waiting)
    try endpoint?.end(waiting: waiting)
    endpoint = nil
  }
}
