internal import AgentCore
internal import AgentModel

/// Clients as they are written without thought: a token is replaced a minute before it ends, and a failure is followed by
/// the next attempt until one succeeds.
extension Fleet {
  func naiveAsk(_ agent: Int) {
    guard !agents[agent].isTrying else { return }
    guard let token = agents[agent].machine.standardToken, boot + Self.minimumLifetime < token.expiresAt else {
      return naiveTry(agent)
    }
    planAsk(agent, after: moment(token.expiresAt) - Self.minimumLifetime.count)
  }

  func naiveTry(_ agent: Int) {
    agents[agent].isTrying = true
    let (result, at) = provider.take(.token, at: now)
    heap.plan(.answer, of: agent, at: at, result: result)
  }

  func naiveAnswer(_ agent: Int, _ result: ProviderResult) {
    guard result == .served else {
      agents[agent].failures += 1
      if agents[agent].machine.standardToken.map({ boot >= $0.expiresAt }) ?? true { becomesUnwell(agent) }
      let doublings = min(agents[agent].failures - 1, 10)
      let pause: Int64 = plan.client == .everySecond ? 1 : min(300, 1 << doublings)
      return heap.plan(.retry, of: agent, at: now + pause * 1000)
    }
    agents[agent].failures = 0
    agents[agent].isTrying = false
    _ = agents[agent].machine.adopt(token(of: agent, at: now), for: .standard)
    becomesWell(agent)
    planAsk(agent, after: now + (plan.lifetime - 60) * 1000)
  }
}
