internal import AgentPorts
package import AgentStore
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

  /// The work that has no task.
  private struct Untasked {
    var count = 0
    var isStopped = false
    var waiting: CheckedContinuation<Void, Never>?
  }
  private let untasked = Mutex(Untasked())

  package init() {
    (works, add) = AsyncStream.makeStream()
    (timers, addTimer) = AsyncStream.makeStream()
  }

  /// Starts `work` soon; the agent waits for its end. False after `stop()`, when no work is started.
  @discardableResult package func start(_ work: @escaping Work) -> Bool {
    if case .terminated = add.yield(work) { false } else { true }
  }

  /// Counts work that has no task, until `endWithoutTask`; the agent waits for its end. False once all tasks have ended
  /// after `stop()`.
  package func beginWithoutTask() -> Bool {
    untasked.withLock { untasked in
      guard !untasked.isStopped else { return false }
      untasked.count += 1
      return true
    }
  }

  package func endWithoutTask() {
    let waiting = untasked.withLock { untasked -> CheckedContinuation<Void, Never>? in
      untasked.count -= 1
      guard untasked.count == 0 else { return nil }
      defer { untasked.waiting = nil }
      return untasked.waiting
    }
    waiting?.resume()
  }

  private func endOfUntasked() async {
    await withCheckedContinuation { continuation in
      let isOver = untasked.withLock { untasked in
        untasked.isStopped = true
        if untasked.count > 0 { untasked.waiting = continuation }
        return untasked.count == 0
      }
      if isOver { continuation.resume() }
    }
  }

  /// Cancelled once the caller of this work has gone, or has cancelled its request; nil for work without a caller.
  @TaskLocal private static var caller: Cancellation?

  /// Nobody waits any more for this work: before its commit it may end without a change.
  package static var isUnwanted: Bool { caller?.isCancelled ?? Task.isCancelled }

  /// Runs `work` to its end, also if the caller disconnects. A caller that still waits gets the result.
  package func finish<Success: Sendable>(
    _ work: @escaping @Sendable () async throws(AgentFailure) -> Success
  ) async throws(AgentFailure) -> Success {
    let cancellation = Cancellation()
    let result: Result<Success, AgentFailure> = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let caller = Caller.current
        let started = add.yield {
          await Caller.$current.withValue(caller) {
            await Self.$caller.withValue(cancellation) {
              do throws(AgentFailure) {
                continuation.resume(returning: .success(try await work()))
              } catch {
                continuation.resume(returning: .failure(error))
              }
            }
          }
        }
        if case .terminated = started { continuation.resume(returning: .failure(AgentFailure.shuttingDown)) }
      }
    } onCancel: {
      cancellation.cancel()
    }
    return try result.get()
  }

  /// Starts work that runs to its end, and waits for its result; nil if the caller was cancelled before.
  package func race<Success: Sendable>(_ work: @escaping @Sendable () async -> Success) async -> Success? {
    let (results, deliver) = AsyncStream<Success>.makeStream()
    let started = add.yield {
      deliver.yield(await work())
      deliver.finish()
    }
    if case .terminated = started { return nil }
    for await result in results { return result }
    return nil
  }

  /// Starts work that nothing waits for, such as one that waits for a moment, also after `stop()`: it is cancelled when
  /// everything else has ended.
  package func startTimer(_ work: @escaping Work) { addTimer.yield(work) }

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
      await endOfUntasked()
      addTimer.finish()
      group.cancelAll()
    }
  }

  package func stop() { add.finish() }
}
