internal import AgentModel
internal import AgentPorts

/// The machine's clock for one process. A task of a dead process does not sleep.
struct ProcessClock: AgentClock {
  let clock: VirtualClock
  let life: ProcessLife

  func wall() -> Timestamp { clock.wall() }
  func boot() -> BootInstant { clock.boot() }
  var bootID: String { clock.bootID }

  /// Cancels a task of a dead process: it must neither wake again nor loop.
  func sleep(until deadline: BootInstant) async {
    if life.isAlive { await clock.sleep(until: deadline) }
    if !life.isAlive { withUnsafeCurrentTask { $0?.cancel() } }
  }
}

/// The network for one process: a dead process sends and receives nothing.
struct ProcessNetwork: HTTPExchange {
  let network: SimulatedNetwork
  let life: ProcessLife
  let executor: SeededExecutor

  func send(_ request: HTTPRequest) async -> HTTPOutcome {
    guard life.isAlive else { return .unknown(.cancelled) }
    let outcome = await network.send(request)
    return life.isAlive ? outcome : .unknown(.cancelled)
  }

  /// The task stands for the thread of an exchange.
  func begin(
    _ request: HTTPRequest, _ cancellation: Cancellation, ended: @escaping @Sendable (HTTPOutcome) -> Void
  ) -> Bool {
    guard request.beforeSending == nil else { return false }
    let task = Task(executorPreference: executor) { ended(await send(request)) }
    cancellation.onCancel { task.cancel() }
    return true
  }

  func trust(of request: HTTPRequest) -> TrustSettings { network.trust(of: request) }
  func serverKey(for request: HTTPRequest) async -> ServerKey { await network.serverKey(for: request) }
}
