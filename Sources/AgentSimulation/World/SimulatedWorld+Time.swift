internal import Agent
public import AgentModel

extension SimulatedWorld {
  /// A person sets the wall clock, so that it is `error` ahead of the true time. `isTold`: the kernel tells the agent,
  /// if one runs; otherwise it finds out when it next looks.
  public func setWall(aheadBy error: Milliseconds, isTold: Bool = true) {
    clock.setWall(clock.trueTime + error)
    if isTold, isRunning { agent.clockMayHaveChanged() }
  }
}
