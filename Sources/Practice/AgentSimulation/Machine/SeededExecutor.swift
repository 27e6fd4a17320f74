internal import Glibc
internal import Synchronization

/// Runs jobs one at a time, and chooses the next with a seeded generator: each seed is one schedule.
///
/// Default actors, task groups, `async let`, AsyncStream and `Task(executorPreference:)` all stay on it. `Task {}` and
/// `Task.detached` leave it, which `strayEnqueues` counts as soon as they resume one of its tasks.
public final class SeededExecutor: TaskExecutor {
  private struct State {
    var jobs: [UnownedJob] = []
    var random: SeededRandom
    var ran = 0
    var trace: UInt64 = 14_695_981_039_346_656_037
    var driver: pthread_t?
    var strays = 0
  }
  private let state: Mutex<State>

  public init(seed: UInt64) { state = Mutex(State(random: SeededRandom(seed: seed))) }

  public func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    state.withLock { state in
      if let driver = state.driver, pthread_equal(driver, pthread_self()) == 0 { state.strays += 1 }
      state.jobs.append(job)
    }
  }

  /// Runs until no job is left: every task waits.
  public func runUntilIdle() {
    run { false }
  }

  /// Runs until no job is left or `isDone` returns true.
  func run(until isDone: () -> Bool) {
    let outer = state.withLock { state in
      defer { state.driver = pthread_self() }
      return state.driver
    }
    while !isDone(), let job = next() { job.runSynchronously(on: asUnownedTaskExecutor()) }
    state.withLock { $0.driver = outer }
  }

  /// Changes the schedule from here on.
  public func reseed(_ seed: UInt64) { state.withLock { $0.random = SeededRandom(seed: seed) } }

  /// The number of jobs that have run; detects a scenario that never ends.
  public var jobsRun: Int { state.withLock { $0.ran } }

  /// A digest of all choices: two runs of one seed with different traces were not deterministic.
  public var trace: UInt64 { state.withLock { $0.trace } }

  /// Jobs enqueued from another thread during a simulation: a task has left the executor.
  public var strayEnqueues: Int { state.withLock { $0.strays } }

  private func next() -> UnownedJob? {
    state.withLock { state in
      guard !state.jobs.isEmpty else { return nil }
      let count = state.jobs.count
      let choice = Int(state.random.next() % UInt64(count))
      state.ran += 1
      state.trace = (state.trace ^ UInt64(count) << 20 ^ UInt64(choice)) &* 1_099_511_628_211
      // The last job fills the gap: the order of waiting jobs has no meaning.
      state.jobs.swapAt(choice, count - 1)
      return state.jobs.removeLast()
    }
  }
}
