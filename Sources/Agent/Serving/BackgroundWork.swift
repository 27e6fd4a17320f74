internal import Synchronization

/// Work that belongs to the agent and not to whoever asked for it: exchanges, sign-ins, requests being served.
///
/// All of it runs in one task group under `run()`, so that it is structured, stays on a simulation's executor, and
/// ends when the agent ends. A caller that goes away cancels none of it.
final class BackgroundWork: Sendable {
  typealias Work = @Sendable () async -> Void

  private let works: AsyncStream<Work>
  private let add: AsyncStream<Work>.Continuation

  init() { (works, add) = AsyncStream.makeStream() }

  /// Starts `work` soon. After `stop()` nothing is started any more.
  func start(_ work: @escaping Work) { add.yield(work) }

  /// Returns when `stop()` was called and everything that was started has ended.
  func run() async {
    await withDiscardingTaskGroup { group in
      for await work in works { group.addTask(operation: work) }
    }
  }

  func stop() { add.finish() }
}
