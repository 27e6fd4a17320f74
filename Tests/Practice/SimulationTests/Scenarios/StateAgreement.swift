import AgentSimulation
import PracticeProvider
import Synchronization
import Testing

/// An account has one state. After every step of every scenario `account.list`, `agent.status`, `account.get` and
/// `session.get` tell the same one, and events told each of its changes and nothing else (docs/tokens.md, One state).
///
/// It asks through a connection of its own, for nothing that reaches a provider. While a disk or a commit is planned to
/// fail it does not ask, and where there are many accounts not after every step: a list of all would take minutes.
final class StateAgreement: Sendable {
  /// `session.get` of so many accounts after a step: scenarios with many accounts would take minutes otherwise.
  private static let mostSessions = 3
  /// With more accounts it asks the more seldom the more there are.
  private static let mostAccounts = 20

  private struct State {
    var isAsking = false
    var client: SimulatedClient?
    /// The state of each account as events told it.
    var told: [String: String] = [:]
    var since: [String: String] = [:]
    var changes = 0
    var steps = 0
    /// The next steps after which it does not ask.
    var skips = 0
  }
  private let state = Mutex(State())

  /// The steps after which all agreed.
  var steps: Int { state.withLock { $0.steps } }

  func check(_ world: SimulatedWorld) async {
    guard world.isRunning, !world.hasPlans, begin() else { return }
    await ask(world)
    state.withLock { $0.isAsking = false }
  }

  /// False while another task of the scenario asks, and after a step that is skipped.
  private func begin() -> Bool {
    state.withLock { state in
      guard !state.isAsking else { return false }
      state.skips -= 1
      guard state.skips < 0 else { return false }
      state.isAsking = true
      return true
    }
  }

  private func ask(_ world: SimulatedWorld) async {
    guard let client = await watching(world) else { return }
    // A change between two answers is no contradiction: events tell of it, and all are asked again.
    for _ in 0..<50 {
      let before = changes(client)
      let list = await client.call("account.list")
      let status = await client.call("agent.status")
      // The vault is locked, or the process ended: what was told before stands for nothing.
      guard let accounts = list.result?["accounts"]?.arrayValue, status.error == nil, !status.isLost else {
        return state.withLock { ($0.told, $0.since) = ([:], [:]) }
      }
      let states = Dictionary(
        uniqueKeysWithValues: accounts.compactMap { account in
          account["id"]?.stringValue.flatMap { id in account["state"]?.stringValue.map { (id, $0) } }
        })
      var alone: [(id: String, state: String?, since: String?)] = []
      for id in sample(states.keys.sorted()) {
        let session = await client.call("session.get", #"{"account":"\#(id)"}"#)
        let account = await client.call("account.get", #"{"account":"\#(id)"}"#)
        guard session.error == nil, account.error == nil else { continue }  // a damaged account
        alone.append((id, account["state"], session["since"]))
        alone.append((id, session["state"], session["since"]))
      }
      guard changes(client) == before else { continue }
      compare(states, status, alone)
      return state.withLock { state in
        state.steps += 1
        state.skips = states.count > Self.mostAccounts ? states.count : 0
      }
    }
  }

  private func compare(
    _ states: [String: String], _ status: SimulatedAnswer, _ alone: [(id: String, state: String?, since: String?)]
  ) {
    let counts = Dictionary(states.values.map { ($0, Int64(1)) }, uniquingKeysWith: +)
    let byState = status.result?["accounts"]?["byState"]
    for (state, count) in counts {
      #expect(byState?[state]?.integerValue == count, "agent.status: \(status), account.list: \(states)")
    }
    for (id, state, since) in alone {
      #expect(state == states[id], "\(id): account.list tells \(states), account.get and session.get \(alone)")
      if let known = self.state.withLock({ $0.since[id] }), known != since {
        Issue.record("\(id): `since` moved from \(known) to \(since ?? "nil") without an event")
      }
    }
    self.state.withLock { known in
      for (id, state) in states {
        if let told = known.told[id] { #expect(told == state, "\(id): events told \(told), and it is \(state)") }
        known.told[id] = state
      }
      for (id, _, since) in alone { known.since[id] = since }
    }
  }

  /// Other accounts after each step.
  private func sample(_ ids: [String]) -> ArraySlice<String> {
    guard ids.count > Self.mostSessions else { return ids[...] }
    let first = state.withLock { $0.steps } % (ids.count - Self.mostSessions + 1)
    return ids[first..<first + Self.mostSessions]
  }

  // MARK: events

  private func watching(_ world: SimulatedWorld) async -> SimulatedClient? {
    if let client = state.withLock({ $0.client }), !client.isClosed { return client }
    guard let client = try? world.client(isObserver: true) else { return nil }
    state.withLock { state in
      state.client = client
      (state.told, state.since) = ([:], [:])
    }
    let types =
      #"["session.stateChanged","session.expired","account.added","account.erased","agent.locked","event.gap"]"#
    let answer = await client.call("event.subscribe", #"{"types":\#(types)}"#)
    return answer.error == nil && !answer.isLost ? client : nil
  }

  /// Reads the events, and returns how many there were so far.
  private func changes(_ client: SimulatedClient) -> Int {
    for line in client.takeLines() {
      guard let event = PracticeJSON(line: Array(line.utf8)), event["method"]?.stringValue == "event",
        let event = event["params"], let type = event["type"]?.stringValue
      else { continue }
      take(type, of: event["account"]?.stringValue ?? "", event["data"])
    }
    return state.withLock { $0.changes }
  }

  private func take(_ type: String, of account: String, _ data: PracticeJSON?) {
    let told = state.withLock { state in
      state.changes += 1
      return state.told[account]
    }
    switch type {
    case "session.stateChanged":
      let (new, previous) = (data?["state"]?.stringValue, data?["previous"]?.stringValue)
      #expect(new != previous, "\(account): an event about no change, \(new ?? "nil")")
      if let told { #expect(previous == told, "\(account): a change from \(previous ?? "nil"), after \(told)") }
      state.withLock { state in
        state.told[account] = new
        state.since[account] = nil
      }
    case "session.expired":
      #expect(told == "reauthenticationRequired" || told == nil, "\(account): session.expired in state \(told ?? "")")
    default: state.withLock { ($0.told, $0.since) = ([:], [:]) }
    }
  }
}
