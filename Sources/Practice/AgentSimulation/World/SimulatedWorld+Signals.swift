public import AgentModel
internal import AgentPorts

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
