internal import Agent
internal import AgentModel
internal import AgentPorts
internal import AgentSimulation
internal import PracticeProvider
internal import Synchronization

/// The machine of one run: the simulated world, its agent, and where clients connect to it.
///
/// Providers answer without taking time unless a transcript says so, so that a script need not advance its clock to
/// get an answer.
final class Machine {
  let world: SimulatedWorld
  let log = RecordingLog()
  let directories = Directories()
  private(set) var station: Station?
  private(set) var providers: [String: SimulatedProvider] = [:]
  /// Providers that the agent was told of by a directive.
  var configured: Set<String> = []
  private let transport: Transport
  private let notice: Notice
  private let isEnding: EndingFlag

  private final class EndingFlag: Sendable {
    let value = Atomic(false)
  }

  init(seed: UInt64, start: Timestamp, protection: String, ownerGrant: String?, transport: Transport, notice: Notice) {
    let isEnding = EndingFlag()
    self.isEnding = isEnding
    self.transport = transport
    self.notice = notice
    world = SimulatedWorld(
      seed: seed, start: start, protection: protection, ownerGrant: ownerGrant, log: log, directories: directories,
      onShutDown: {
        isEnding.value.store(true, ordering: .relaxed)
        notice.give()
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

  /// Starts the agent if none runs, and opens the station in front of it.
  func start() throws {
    guard station == nil else { return }
    isEnding.value.store(false, ordering: .relaxed)
    if !world.isRunning {
      let world = world
      try world.drive { try await world.restart() }
    }
    let host = TappedHost(world.agent, onChange: { [notice] in notice.give() })
    station = Station(transport, host: host, clock: world.clock, notice: notice)
  }

  /// What `lanyard-agent` does when the agent tells it that it ends.
  func stopTransportIfShutDown() {
    if isEnding.value.exchange(false, ordering: .relaxed) { station?.stop() }
  }

  /// The station goes, and with it every connection; the agent too, in order or not.
  func stop(killed: Bool, waiting: (String, () -> Bool) throws -> Void) throws {
    if killed {
      world.crash()
    } else if world.isRunning {
      world.agent.shutDown()
      try waiting("the agent to end") { !world.isRunning }
    }
    try station?.end(waiting: waiting)
    station = nil
  }

  func end(waiting: (String, () -> Bool) throws -> Void) throws {
    guard station != nil else { return }
    world.crash()
    station?.stop()
    // A client may wait for a provider that hangs: its time runs out, as the transport's patience does.
    world.advance(by: .seconds(600))
    try station?.judgeDeadlines(waiting: waiting)
    try station?.end(waiting: waiting)
    station = nil
  }
}
