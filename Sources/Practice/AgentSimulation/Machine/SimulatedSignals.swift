public import AgentModel
public import AgentPorts
internal import Synchronization

/// What the simulated machine tells the agent that runs on it, when a scenario says so.
///
///     world.network.isOnline = true
///     world.signals.fire(.networkChanged)
public final class SimulatedSignals: Sendable {
  private let ready = Mutex(0)
  private let listeners = Mutex<[UInt64: @Sendable (SystemSignal) -> Void]>([:])

  /// Tells it at once to whoever listens; what follows from it happens as the executor chooses.
  public func fire(_ signal: SystemSignal) {
    for (_, listener) in listeners.withLock({ $0.sorted { $0.key < $1.key } }) { listener(signal) }
  }

  /// How often the machine was told that it may sleep.
  public var readiness: Int { ready.withLock { $0 } }
  fileprivate func countReadiness() { ready.withLock { $0 += 1 } }

  fileprivate func set(_ listener: (@Sendable (SystemSignal) -> Void)?, of process: UInt64) {
    listeners.withLock { $0[process] = listener }
  }
}

/// The machine's signals as one process hears them: until it stops listening, at the latest when it dies.
struct ProcessSignals: SystemSignals {
  let signals: SimulatedSignals
  let process: UInt64

  func start(_ onSignal: @escaping @Sendable (SystemSignal) -> Void) { signals.set(onSignal, of: process) }
  func stop() { signals.set(nil, of: process) }
  func readyToSleep() { signals.countReadiness() }
}

extension SimulatedWorld {
  /// The machine sleeps for a while, wakes, and says so.
  public func sleepMachine(for duration: Milliseconds) {
    clock.suspend(for: duration)
    signals.fire(.clockChanged)
  }

  /// A person sets the wall clock, so that it is `error` ahead of the true time. `isTold`: the machine says so;
  /// otherwise the agent finds out when it next looks.
  public func setWall(aheadBy error: Milliseconds, isTold: Bool = true) {
    clock.setWall(clock.trueTime + error)
    if isTold { signals.fire(.clockChanged) }
  }

  /// The network goes, or comes back, and the machine says so.
  public func setOnline(_ isOnline: Bool) {
    network.isOnline = isOnline
    signals.fire(.networkChanged)
  }
}
