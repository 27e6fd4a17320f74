internal import Synchronization

/// Work that belongs to the agent and not to the caller that asked for it: exchanges, sign-ins, requests being served.
///
/// All of it runs in task groups under `run()`, so that it is structured, stays on a simulation's executor, and ends
/// when the agent ends. A caller that disconnects cancels none of it.
package final class BackgroundWork: Sendable {
  package typealias Work = @Sendable () async -> Void

  private let works: AsyncStream<Work>
  private let add: AsyncStream<Work>.Continuation
  private let timers: AsyncStream<Work>
  private let addTimer: AsyncStream<Work>.Continuation

  package init() {
    (works, add) = AsyncStream.makeStream()
    (timers, addTimer) = AsyncStream.makeStream()
  }

  /// Starts `work` soon; the agent waits for its end. False after `stop()`, when no work is started.
  @discardableResult package func start(_ work: @escaping Work) -> Bool {
    if case .terminated = add.yield(work) { false } else { true }
  }

  /// Runs `work` to its end, also if the caller disconnects. A caller that still waits gets the result.
  package func finish<Success: Sendable>(
    _ work: @escaping @Sendable () async throws(AgentFailure) -> Success
  ) async throws(AgentFailure) -> Success {
    let result: Result<Success, AgentFailure> = await withCheckedContinuation { continuation in
      let caller = Caller.current
      let started = add.yield {
        await Caller.$current.withValue(caller) {
          do throws(AgentFailure) {
            continuation.resume(returning: .success(try await work()))
          } catch {
            continuation.resume(returning: .failure(error))
          }
        }
      }
      if case .terminated = started { continuation.resume(returning: .failure(AgentFailure.shuttingDown)) }
    }
    return try result.get()
  }

  /// Starts work that runs to its end, and waits for its result; nil if the caller was cancelled before.
  func race<Success: Sendable>(_ work: @escaping @Sendable () async -> Success) async -> Success? {
    let (results, deliver) = AsyncStream<Success>.makeStream()
    let started = add.yield {
      deliver.yield(await work())
      deliver.finish()
    }
    if case .terminated = started { return nil }
    for await result in results { return result }
    return nil
  }

  /// Starts work that only waits for a moment: it is cancelled when everything else has ended.
  func startTimer(_ work: @escaping Work) { addTimer.yield(work) }

  /// Returns when `stop()` was called and everything that was started has ended.
  package func run() async {
    await withTaskGroup(of: Void.self) { [works, timers] group in
      group.addTask {
        await withDiscardingTaskGroup { group in
          for await timer in timers { group.addTask(operation: timer) }
          group.cancelAll()
        }
      }
      await withDiscardingTaskGroup { group in
        for await work in works { group.addTask(operation: work) }
      }
      addTimer.finish()
      group.cancelAll()
    }
  }

  func stop() { add.finish() }
}
