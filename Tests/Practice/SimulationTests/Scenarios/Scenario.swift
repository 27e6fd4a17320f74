import AgentModel
import AgentSimulation
import Foundation
import Synchronization
import Testing

/// Runs a scenario in many seeds: a seed decides the schedule, the latencies, and what the scenario draws by `chance`.
/// `Seeds.worlds` run at a time, each on one thread.
///
/// `perThousand` is how many seeds a run of `LANYARD_SEEDS=1000` takes: fewer for a scenario that costs more.
func everySeed(
  _ perThousand: Int = 1000, protection: String = "keyFile",
  _ body: @escaping @Sendable (SimulatedWorld, Chance) async throws -> Void
) async throws {
  let queue = SeedQueue(Seeds.asked(perThousand))
  try await withThrowingTaskGroup(of: Void.self) { group in
    for _ in 0..<Seeds.worlds {
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

  /// Nil at the end, and after three failed seeds: more failures of a broken invariant show nothing new.
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
  let agreement = StateAgreement()
  let world = SimulatedWorld(seed: seed, protection: protection, afterStep: { await agreement.check($0) })
  let place = TrapReport.begin(seed)
  defer { TrapReport.end(place) }
  do {
    try world.run { world in
      try await body(world, Chance(seed: seed))
      await agreement.check(world)
    }
  } catch {
    Issue.record(error)
  }
  #expect(world.executor.strayEnqueues == 0, "a task left the executor")
}

/// Runs one world. With `seed` from `Seeds.asked`, in a suite with `.tellsItsSeed`, a failure prints the command that
/// replays it.
func scenario(
  seed: UInt64? = nil, _ body: @escaping @Sendable (SimulatedWorld) async throws -> Void
) throws {
  let world = SimulatedWorld(seed: seed ?? 1)
  let place = seed.flatMap { TrapReport.begin($0) }
  defer { TrapReport.end(place) }
  try Seeds.$current.withValue(seed.map(Seeds.Running.init)) {
    do {
      try world.run(body)
    } catch  where seed != nil {
      Issue.record(error)  // here, where `Seeds.current` is known
    }
    #expect(world.executor.strayEnqueues == 0, "a task left the executor")
  }
}

/// A scenario's own random choices.
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
