internal import AgentCore
internal import AgentModel

/// Runs a plan: a discrete-event simulation of all agents of a fleet and their one provider. The agents decide by the
/// machines of `AgentCore`; this is their shell, without a disk. One seed, one run.
///
/// A program's request that a fresh token answers changes nothing (`TokenCache`), so only those are simulated that come
/// when the token is not fresh. They come at random and independently, so nothing else has to be known of the others.
final class Fleet {
  let plan: FleetPlan
  var random: FleetRandom
  var heap = EventHeap()
  var provider: SimulatedProvider
  var agents: [FleetAgent] = []
  var now: Int64 = 0
  private(set) var unwell = 0
  private var unwellByBin: [Int32] = []
  /// Requests to the policy server, by bin.
  var policyRequests: [Int32]
  /// The last moment at which one agent was unwell.
  private(set) var allWellAt: Int64 = 0
  /// When most of those that were unwell at the end of the outage were well again.
  private(set) var unwellAtReturn = 0
  private(set) var nearlyAllWellAt: Int64?
  private(set) var signInsTold = 0

  static let issuer = "https://idp.example"
  /// What a program wants (`token.get`, default of `minimumLifetimeSeconds`).
  static let minimumLifetime = Milliseconds.seconds(60)

  init(_ plan: FleetPlan) {
    self.plan = plan
    random = FleetRandom(seed: plan.seed)
    provider = SimulatedProvider(plan)
    policyRequests = Array(repeating: 0, count: Int(plan.end / FleetPlan.bin) + 1)
  }

  var boot: BootInstant { BootInstant(milliseconds: Self.bootOffset + now) }
  /// The machines were booted a day ago.
  static let bootOffset: Int64 = 86_400_000

  func moment(_ instant: BootInstant) -> Int64 { instant.milliseconds - Self.bootOffset }

  // MARK: the run

  func run() {
    populate()
    let end = plan.end * 1000
    var nextBin = FleetPlan.bin * 1000
    let returns = plan.eventEnds * 1000
    while let event = heap.next(), event.at < end {
      if unwell > 0 { allWellAt = event.at }
      while event.at >= nextBin {
        unwellByBin.append(Int32(unwell))
        if nextBin == returns {
          unwellAtReturn = unwell
          for agent in agents.indices { rest(agent) }
        }
        nextBin += FleetPlan.bin * 1000
      }
      now = event.at
      happen(event)
    }
    while unwellByBin.count < Int(plan.end / FleetPlan.bin) { unwellByBin.append(Int32(unwell)) }
  }

  func report() -> FleetReport {
    FleetReport(
      plan: plan, arrivals: provider.arrivals, policyRequests: policyRequests, unwell: unwellByBin,
      allWellAfter: unwell > 0 ? nil : max(0, allWellAt - plan.eventEnds * 1000),
      nearlyAllWellAfter: nearlyAllWellAt.map { max(0, $0 - plan.eventEnds * 1000) } ?? (unwell > 0 ? nil : 0),
      refused: provider.refused, signInsTold: signInsTold)
  }

  // MARK: the beginning

  private func populate() {
    var rule = ProviderConfiguration.RefreshRule()
    rule.onUnknownOutcome = .replayLast
    agents.reserveCapacity(plan.agents)
    let beginning = FleetPlan.beginning * 1000
    for number in 0..<plan.agents {
      var agent = FleetAgent(
        machine: TokenMachine(health: .ok, rule: rule), pauseOfPrograms: pauseOfPrograms())
      if random.fraction() < plan.identity { agent.identity = IDTokenMachine() }
      agent.hasCaller = random.fraction() < plan.callers
      agent.exchanges.loaded(epoch: 1)
      agents.append(agent)
      let lifetime = plan.lifetime * 1000
      if plan.scenario == .morning {
        // Asleep since the evening. Its documents were read in the morning before.
        agents[number].sleepsUntil = beginning + random.uniform(0..<FleetPlan.morning * 1000)
        agents[number].documentsReadAt = beginning - Self.day + random.uniform(0..<FleetPlan.morning * 1000)
        _ = agents[number].machine.adopt(token(of: number, at: -lifetime * 2), for: .standard)
        heap.plan(.wake, of: number, at: agents[number].sleepsUntil)
      } else {
        agents[number].documentsReadAt = -random.uniform(0..<Self.day)
        _ = agents[number].machine.adopt(token(of: number, at: -random.uniform(0..<lifetime * 17 / 20)), for: .standard)
        begin(number)
        if random.fraction() < plan.asleep { sleepNow(number) }
      }
      beginPolling(number)
      planScenario(number, beginning)
    }
  }

  private func planScenario(_ agent: Int, _ beginning: Int64) {
    switch plan.scenario {
    case .signOut, .signOutOffline:
      heap.plan(.signOut, of: agent, at: beginning + random.uniform(0..<FleetPlan.push * 1000))
    case .keyRevoked:
      heap.plan(.rejected, of: agent, at: beginning + random.pause(mean: agents[agent].pauseOfPrograms))
    default: break
    }
  }

  private func pauseOfPrograms() -> Int64 {
    var drawn = random.fraction()
    for kind in plan.programs {
      if drawn < kind.share { return kind.pause * 1000 }
      drawn -= kind.share
    }
    return (plan.programs.last?.pause ?? 60) * 1000
  }

  private func begin(_ agent: Int) {
    planAsk(agent, after: now)
    if plan.client == .lanyard { watch(agent) }
  }

  static let day: Int64 = 86_400_000

  // MARK: sleep

  /// Machines sleep for half an hour in the mean.
  private func sleepNow(_ agent: Int) {
    agents[agent].sleepsUntil = now + random.pause(mean: 1_800_000)
    // No program runs that could be refused.
    if agents[agent].isUnwell {
      agents[agent].isUnwell = false
      unwell -= 1
    }
    policyCame(agent)
    heap.plan(.wake, of: agent, at: agents[agent].sleepsUntil)
  }

  func isAsleep(_ agent: Int) -> Bool { now < agents[agent].sleepsUntil }

  private func wake(_ agent: Int) {
    // For each that wakes another one falls asleep, so that their share stays.
    if plan.scenario != .morning, plan.asleep > 0 {
      let other = Int(random.uniform(0..<Int64(agents.count)))
      if !isAsleep(other) { sleepNow(other) } else { sleepNow(agent) }
      if isAsleep(agent) { return }
    }
    agents[agent].awakeSince = now
    let isSignedOut = agents[agent].owesRevocation
    if plan.client == .lanyard {
      // The network came back: `AgentService.connectivityMayHaveReturned`.
      agents[agent].machine.reconnected()
      if let next = agents[agent].machine.nextRenewal(at: boot) {
        planLook(agent, at: max(moment(next), now + random.uniform(0..<3000)))
      }
    }
    policySourceMayBeReachable(agent)
    if isSignedOut { planRevocation(agent, at: now) }
    planAsk(agent, after: now)
  }

  // MARK: events

  private func happen(_ event: FleetEvent) {
    let agent = Int(event.agent)
    switch event.kind {
    case .wake:
      guard now == agents[agent].sleepsUntil else { return }
      wake(agent)
    case .policyAnswer: policyAnswer(agent, event.result)
    case .answer where plan.client != .lanyard: naiveAnswer(agent, event.result)
    case .answer: answer(agent, event.result)
    case .keys: keysCame(agent, event.result)
    case .revocationAnswer: revocationAnswer(agent, event.result)
    case .signInAnswer: signInAnswer(agent, event.result)
    case .probe: probeAnswer(agent, event.result)
    case .signIn: signIn(agent)
    case .signOut:
      // A machine that is asleep is told when it wakes.
      if isAsleep(agent) { return heap.plan(.signOut, of: agent, at: agents[agent].sleepsUntil + 1) }
      signOut(agent)
    case .revocation:
      guard !isAsleep(agent), event.stamp == agents[agent].revocationStamp else { return }
      sendRevocation(agent)
    case .ask, .retry, .renewal, .queue, .identity, .rejected, .rest, .policy:
      guard !isAsleep(agent) else { return }  // the waking plans the next ones
      awake(event, agent)
    }
  }

  private func awake(_ event: FleetEvent, _ agent: Int) {
    switch event.kind {
    case .rest: rest(agent)
    case .ask where event.stamp != agents[agent].askStamp: return
    case .ask where plan.client != .lanyard: naiveAsk(agent)
    case .ask: ask(agent)
    case .retry: naiveTry(agent)
    case .renewal: look(agent, planned: event.at)
    case .policy: pollPolicy(agent, planned: event.at)
    case .queue: lookAtQueue(agent)
    case .identity: askForIdentity(agent)
    case .rejected: wasRejected(agent)
    default: return
    }
  }

  func planAsk(_ agent: Int, after moment: Int64) {
    agents[agent].askStamp &+= 1
    heap.plan(
      .ask, of: agent, at: max(now, moment) + random.pause(mean: agents[agent].pauseOfPrograms),
      stamp: agents[agent].askStamp)
  }

  // MARK: well and unwell

  func becomesUnwell(_ agent: Int) {
    guard !agents[agent].isUnwell else { return }
    agents[agent].isUnwell = true
    unwell += 1
  }

  func becomesWell(_ agent: Int) {
    guard agents[agent].isUnwell else { return }
    agents[agent].isUnwell = false
    oneIsWell()
  }

  /// An agent without its policy server is counted as unwell as well.
  func policyIsLate(_ agent: Int) {
    guard !agents[agent].isPolicyLate else { return }
    agents[agent].isPolicyLate = true
    unwell += 1
  }

  func policyCame(_ agent: Int) {
    guard agents[agent].isPolicyLate else { return }
    agents[agent].isPolicyLate = false
    oneIsWell()
  }

  private func oneIsWell() {
    unwell -= 1
    if now >= plan.eventEnds * 1000, nearlyAllWellAt == nil, unwell * 100 <= unwellAtReturn { nearlyAllWellAt = now }
  }

  /// The pause of an agent is over, and the provider can answer: a program that asks now gets a token. Where no program
  /// asks, no timer does either.
  private func rest(_ agent: Int) {
    let machine = agents[agent].machine
    let isSilent = agents[agent].queue.isSilent(Self.issuer)
    guard plan.client == .lanyard, now >= plan.eventEnds * 1000 - FleetPlan.bin * 1000, machine.exchange == nil,
      !isSilent, machine.health == .ok, pauseEnd(of: agent).map({ $0 <= boot }) ?? true
    else { return }
    becomesWell(agent)
  }

  func personIsTold() { signInsTold += 1 }
}
