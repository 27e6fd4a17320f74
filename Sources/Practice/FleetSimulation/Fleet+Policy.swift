internal import AgentCore
internal import AgentModel

/// How agents ask for their policy bundle: the shell of `BundlePolling`, as `PolicySourceWorker`.
extension Fleet {
  /// An agent that was started long ago.
  func beginPolling(_ agent: Int) {
    let interval = plan.policyInterval * 1000
    agents[agent].polling = BundlePolling(every: Milliseconds(interval))
    agents[agent].polling.start(
      age: Milliseconds(random.uniform(0..<interval)), isUrgent: false, at: boot, jitter: random.fraction())
    planPoll(agent)
  }

  /// The machine woke, and its network is there.
  func policySourceMayBeReachable(_ agent: Int) {
    agents[agent].polling.mayBeReachable(at: boot, jitter: random.fraction())
    planPoll(agent)
  }

  func pollPolicy(_ agent: Int, planned: Int64) {
    guard agents[agent].nextPoll == planned else { return }
    agents[agent].nextPoll = nil
    guard agents[agent].polling.begin(at: boot, jitter: random.fraction()) else { return planPoll(agent) }
    policyRequests[Int(now / (FleetPlan.bin * 1000))] += 1
    heap.plan(.policyAnswer, of: agent, at: now + 50, result: isPolicyServerDown ? .refused : .served)
  }

  func policyAnswer(_ agent: Int, _ result: ProviderResult) {
    if result == .served { policyCame(agent) } else { policyIsLate(agent) }
    agents[agent].polling.ended(result == .served ? .confirmed : .unreached, at: boot, jitter: random.fraction())
    planPoll(agent)
  }

  private var isPolicyServerDown: Bool {
    plan.scenario == .policyOutage && now >= FleetPlan.beginning * 1000 && now < plan.eventEnds * 1000
  }

  private func planPoll(_ agent: Int) {
    let next = agents[agent].polling.nextAt.map { max(now, moment($0)) }
    guard agents[agent].nextPoll != next else { return }
    agents[agent].nextPoll = next
    if let next { heap.plan(.policy, of: agent, at: next) }
  }
}
