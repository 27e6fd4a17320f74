import AgentModel
import AgentSimulation
import Foundation
import Synchronization
import Testing

/// Runs a scenario in many seeds: each is another schedule, other latencies, and what the scenario itself draws by
/// `chance`. Two worlds run at a time, each on one thread.
///
/// An expectation that fails tells its seed, in every suite that is `.tellsItsSeed`. `LANYARD_SEEDS=20` or
/// `LANYARD_SEEDS=500-900` looks at fewer or at others, `LANYARD_SEED=17` at that one.
func everySeed(
  _ usual: Int = 1000, protection: String = "keyFile",
  _ body: @escaping @Sendable (SimulatedWorld, Chance) async throws -> Void
) async throws {
  let queue = SeedQueue(Seeds.asked(usual))
  try await withThrowingTaskGroup(of: Void.self) { group in
    for _ in 0..<2 {
      group.addTask {
        while let seed = queue.take() {
          let running = Seeds.Running(seed)
          try Seeds.$current.withValue(running) { try run(seed, protection, body) }
          if running.hasFailed { queue.failed() }
        }
      }
    }
    try await group.waitForAll()
  }
}

/// The seeds that wait for a world.
private final class SeedQueue: Sendable {
  private let state: Mutex<(next: UInt64, last: UInt64, failures: Int)>

  init(_ seeds: ClosedRange<UInt64>) { state = Mutex((seeds.lowerBound, seeds.upperBound, 0)) }

  /// Nil at the end. Whoever breaks an invariant breaks it in many seeds: a few of them tell as much as all.
  func take() -> UInt64? {
    state.withLock { state in
      guard state.next <= state.last, state.failures < 3 else { return nil }
      state.next += 1
      return state.next - 1
    }
  }

  func failed() { state.withLock { $0.failures += 1 } }
}

private func run(
  _ seed: UInt64, _ protection: String, _ body: @escaping @Sendable (SimulatedWorld, Chance) async throws -> Void
) throws {
  let world = SimulatedWorld(seed: seed, protection: protection)
  do {
    try world.run { world in try await body(world, Chance(seed: seed)) }
  } catch {
    Issue.record(error)
  }
  #expect(world.executor.strayEnqueues == 0, "a task left the executor")
}

/// What a scenario draws for itself.
struct Chance: Sendable {
  private let entropy: SeededEntropy

  init(seed: UInt64) { entropy = SeededEntropy(seed: seed &* 0x5851_F42D_4C95_7F2D) }

  func number(_ range: ClosedRange<Int>) -> Int {
    Int(entropy.number(in: Int64(range.lowerBound)...Int64(range.upperBound)))
  }
  func milliseconds(_ range: ClosedRange<Int64>) -> Milliseconds { Milliseconds(entropy.number(in: range)) }
  func seconds(_ range: ClosedRange<Int64>) -> Milliseconds { .seconds(entropy.number(in: range)) }
  func one<Element>(of choices: [Element]) -> Element { choices[number(0...choices.count - 1)] }
  func coin() -> Bool { number(0...1) == 0 }
}

/// The seeds that are asked for, and the one that runs.
enum Seeds {
  final class Running: Sendable {
    let seed: UInt64
    private let failures = Atomic(0)

    init(_ seed: UInt64) { self.seed = seed }

    var hasFailed: Bool { failures.load(ordering: .relaxed) > 0 }
    func failed() { failures.add(1, ordering: .relaxed) }
  }

  @TaskLocal static var current: Running?

  static func asked(_ usual: Int) -> ClosedRange<UInt64> {
    let environment = ProcessInfo.processInfo.environment
    if let one = environment["LANYARD_SEED"].flatMap({ UInt64($0) }) { return one...one }
    let bounds = environment["LANYARD_SEEDS"]?.split(separator: "-").compactMap { UInt64($0) } ?? []
    switch bounds.count {
    case 1: return 1...max(1, bounds[0] * UInt64(usual) / 1000)  // what is dear stays rarer
    case 2 where bounds[0] <= bounds[1]: return bounds[0]...bounds[1]
    default: return 1...UInt64(usual)
    }
  }
}

extension Trait where Self == IssueHandlingTrait {
  /// Adds to each failure the seed in which it happened.
  static var tellsItsSeed: Self {
    .compactMapIssues { issue in
      guard let running = Seeds.current else { return issue }
      running.failed()
      var issue = issue
      let name = (Test.current?.name ?? "").prefix { $0 != "(" }
      let told: Comment = "seed \(running.seed): LANYARD_SEED=\(running.seed) swift test --filter \(name)"
      if !issue.comments.contains(told) { issue.comments.append(told) }  // the trait of the suite is its tests', too
      return issue
    }
  }
}
