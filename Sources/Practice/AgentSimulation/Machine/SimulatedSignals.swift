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
