internal import AgentModel
internal import AgentPorts

/// The machine's clock as one process sees it: nobody sleeps in a dead one.
struct ProcessClock: AgentClock {
  let clock: VirtualClock
  let life: ProcessLife

  func wall() -> Timestamp { clock.wall() }
  func boot() -> BootInstant { clock.boot() }
  var bootID: String { clock.bootID }

  /// Who sleeps in a dead process is cancelled and goes home: nobody there may wake again, nor go round in circles.
  func sleep(until deadline: BootInstant) async {
    if life.isAlive { await clock.sleep(until: deadline) }
    if !life.isAlive { withUnsafeCurrentTask { $0?.cancel() } }
  }
}

/// The network as one process sees it: a dead one sends nothing and hears nothing.
struct ProcessNetwork: HTTPExchange {
  let network: SimulatedNetwork
  let life: ProcessLife

  func send(_ request: HTTPRequest) async -> HTTPOutcome {
    guard life.isAlive else { return .unknown(.cancelled) }
    let outcome = await network.send(request)
    return life.isAlive ? outcome : .unknown(.cancelled)
  }
}
