public import AgentModel
public import AgentPorts
internal import Synchronization

/// Signals of the simulated machine, which a scenario sends to the agent.
///
///     world.network.isOnline = true
///     world.signals.fire(.networkChanged)
public final class SimulatedSignals: Sendable {
  private let ready = Mutex(0)
  private let listeners = Mutex<[UInt64: @Sendable (SystemSignal) -> Void]>([:])

  /// Sends the signal to the listening process at once; the executor schedules what follows.
  public func fire(_ signal: SystemSignal) {
    for (_, listener) in listeners.withLock({ $0.sorted { $0.key < $1.key } }) { listener(signal) }
  }

  /// The number of times that the agent allowed the machine to sleep.
  public var readiness: Int { ready.withLock { $0 } }
  fileprivate func countReadiness() { ready.withLock { $0 += 1 } }

  fileprivate func set(_ listener: (@Sendable (SystemSignal) -> Void)?, of process: UInt64) {
    listeners.withLock { $0[process] = listener }
  }
}

/// The signals for one process: until it stops listening or dies.
struct ProcessSignals: SystemSignals {
  let signals: SimulatedSignals
  let process: UInt64

  func start(_ onSignal: @escaping @Sendable (SystemSignal) -> Void) { signals.set(onSignal, of: process) }
  func stop() { signals.set(nil, of: process) }
  func readyToSleep() { signals.countReadiness() }
}

extension SimulatedWorld {
  /// Suspends the machine for a while, wakes it, and sends the signals.
  public func sleepMachine(for duration: Milliseconds) {
    clock.suspend(for: duration)
    signals.fire(.clockChanged)
  }

  /// Sets the wall clock `error` ahead of the true time. With `isTold` the machine signals it; otherwise the agent
  /// finds out when it next reads the clock.
  public func setWall(aheadBy error: Milliseconds, isTold: Bool = true) {
    clock.setWall(clock.trueTime + error)
    if isTold { signals.fire(.clockChanged) }
  }

  /// Switches the network off or on, and sends the signal.
  public func setOnline(_ isOnline: Bool) {
    network.isOnline = isOnline
    signals.fire(.networkChanged)
  }
}
