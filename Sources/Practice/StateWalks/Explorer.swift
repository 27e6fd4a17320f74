internal import AgentCore
internal import AgentModel

/// Finds the possible transitions of a grant by driving the machine itself: applies every input to every reached state,
/// until no new state appears. It knows nothing of the machine's rules.
///
/// States are compared by phase, freshness and the answer to each demand only, so that the walk ends, and a rule that
/// is added to the machine appears here.
struct Explorer {
  /// One observed step.
  struct Step: Hashable {
    var variant: Variant
    var input: Input.Name
    var from: Look
    var to: Look
    var effects: [String]
  }

  /// The provider's configuration, and the token that callers ask for.
  struct Variant: Hashable {
    var name: String
    var rule: ProviderConfiguration.RefreshRule
    var key = TokenKey.standard

    static let all = [
      Variant(name: "none", rule: Grant.rule(.none)),
      Variant(name: "grace", rule: Grant.rule(.grace, grace: 60)),
      Variant(name: "strict", rule: Grant.rule(.strict)),
      Variant(name: "replayOnce", rule: Grant.rule(.strict, .replayOnce)),
      Variant(name: "replayLast", rule: Grant.rule(.strict, .replayLast)),
      Variant(name: "one audience", rule: Grant.rule(.strict), key: .mail),
    ]
  }

  /// The steps in the order in which the walk found them.
  private(set) var steps: [Step] = []
  private var known: Set<Step> = []
  /// The answers to each demand, by the state in which it is made.
  private(set) var answers: [Look: [String: Set<[String]>]] = [:]

  /// Walks every variant, from a new machine.
  static func everything() -> Explorer {
    Variant.all.reduce(into: Explorer()) { $0.walk($1) }
  }

  private mutating func walk(_ variant: Variant) {
    let first = Subject(variant)
    var seen: Set<Subject.Sight> = [first.sight]
    var waiting = [first]
    var next = 0
    while next < waiting.count {
      let subject = waiting[next]
      next += 1
      for (demand, told) in subject.told { answers[subject.look, default: [:]][demand, default: []].insert(told) }
      for input in Input.all {
        var after = subject
        guard let effects = input.apply(&after) else { continue }
        let step = Step(
          variant: variant, input: input.name, from: subject.look, to: after.look, effects: effects.map(Labels.effect))
        if known.insert(step).inserted { steps.append(step) }
        if seen.insert(after.sight).inserted { waiting.append(after) }
      }
    }
  }
}

/// The visible state of a grant: the two axes of docs/tokens.md, Health and freshness.
struct Look: Hashable {
  var phase: String
  var freshness: TokenMachine.Freshness
}

/// A grant during the walk, and the demands that wait for its token.
struct Subject {
  typealias Demand = TokenMachine.Demand

  /// The state by which the walk distinguishes two grants: phase and freshness, waiters, and the answer to each demand.
  struct Sight: Hashable {
    var look: Look
    var health: String
    var waiting: Set<Demand>
    var told: [String: [String]]
    /// Failures in a row, up to four: a fifth one changes nothing more.
    var failures: Int
    /// The coming events in order, without their times.
    var moments: [String]
  }

  let variant: Explorer.Variant
  var grant: Grant
  var waiting: [TokenMachine.WaiterID: Demand] = [:]
  /// The number of failed exchanges in a row.
  var failures = 0

  init(_ variant: Explorer.Variant) {
    self.variant = variant
    grant = Grant()
    grant.machine = TokenMachine(health: .ok, rule: variant.rule)
  }

  var machine: TokenMachine { grant.machine }
  var token: TokenMachine.TokenFacts? { machine.token(variant.key) }

  /// Applies an input to the grant, and updates the waiters.
  mutating func meets(_ input: (inout Grant) -> [TokenMachine.Effect]) -> [TokenMachine.Effect] {
    let effects = input(&grant)
    for effect in effects {
      switch effect {
      case .answer(let id, _, _), .refuse(let id, _): waiting[id] = nil
      default: break
      }
    }
    return effects
  }

  mutating func wants(_ demand: Demand) -> [TokenMachine.Effect] {
    let (id, effects) = grant.wants(demand, variant.key)
    waiting[id] = demand
    return meets { _ in effects }
  }

  /// The demands of the contract: `token.get`, `token.refresh`, and `token.reject` of the token that is cached or was.
  static let demands = ["token.get", "token.refresh", "token.reject", "token.reject, older token"]

  func demand(_ name: String) -> Demand {
    switch name {
    case "token.get": .usable(minimumLifetime: .zero)
    case "token.refresh": .forced
    case "token.reject": .replacing(fingerprint: token?.fingerprint ?? "unknown")
    default: .replacing(fingerprint: "older")
    }
  }

  /// The answer to each demand in this state, tried on a copy.
  var told: [String: [String]] {
    Dictionary(uniqueKeysWithValues: Self.demands.map { ($0, told(demand($0))) })
  }

  private func told(_ demand: Demand) -> [String] {
    var copy = self
    let effects = copy.wants(demand).map(Labels.effect)
    return copy.waiting.count > waiting.count ? effects + ["wait"] : effects
  }

  /// The coming moments at which the grant changes, the next one first.
  var moments: [(name: String, at: BootInstant)] {
    let all = [
      ("refresh time", token?.refreshAt), ("expiry", token?.expiresAt), ("pause over", machine.nextAttemptAt),
    ]
    return all.compactMap { name, moment in moment.flatMap { grant.now < $0 ? (name, $0) : nil } }
      .sorted { ($0.at, $0.name) < ($1.at, $1.name) }
  }

  var freshness: TokenMachine.Freshness {
    guard let token else { return .none }
    return grant.now < token.refreshAt ? .fresh : grant.now < token.expiresAt ? .stale : .expired
  }

  /// True if a forced exchange may begin now.
  var mayAsk: Bool { told(.forced).contains("exchange") }

  var look: Look { Look(phase: phase, freshness: freshness) }

  /// The health and the current work. A health that is added to the machine gets its own name here, too.
  var phase: String {
    if let exchange = machine.exchange {
      return exchange.isReplay ? "replaying" : machine.health == .ok ? "refreshing" : "rechecking"
    }
    switch machine.health {
    case .ok: break
    case .unknown: return mayAsk || mayAskAfterThePause ? "replayable" : "unknown"
    default: return Labels.caseName(machine.health)
    }
    if machine.hasInteraction { return "interaction" }
    if mayAsk { return "ok" }
    return told(.forced).contains("refuse misconfigured") ? "wishRefused" : "backoff"
  }

  private var mayAskAfterThePause: Bool {
    var copy = self
    copy.grant.now = max(grant.now, machine.nextAttemptAt ?? grant.now)
    return copy.mayAsk
  }

  /// The next moment at which time alone changes an answer although the machine names no such moment: the end of a
  /// grace, or of a remembered refusal. Nil if there is none within an hour, or before a moment that the machine names.
  var hiddenMoment: BootInstant? {
    let horizon = moments.first?.at ?? grant.now + .seconds(3600)
    let (phase, mayAsk, told) = (phase, mayAsk, told(demand("token.get")))
    func changes(at moment: BootInstant) -> Bool {
      var copy = self
      copy.grant.now = moment
      return copy.phase != phase || copy.mayAsk != mayAsk || copy.told(demand("token.get")) != told
    }
    var (unchanged, changed) = (grant.now, horizon + Milliseconds(-1))
    guard unchanged < changed, changes(at: changed) else { return nil }
    while unchanged + Milliseconds(1) < changed {
      let middle = unchanged + (changed - unchanged) / 2
      if changes(at: middle) { changed = middle } else { unchanged = middle }
    }
    return changed
  }

  var sight: Sight {
    Sight(
      look: look, health: Labels.caseName(machine.health), waiting: Set(waiting.values.map(Self.kind)), told: told,
      failures: min(failures, 4),
      moments: moments.map(\.name))
  }

  /// The kind of a demand without its token: the walk needs only the kinds that wait.
  private static func kind(_ demand: Demand) -> Demand {
    if case .replacing = demand { .replacing(fingerprint: "") } else { demand }
  }
}
