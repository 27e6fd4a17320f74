internal import Synchronization
internal import Threads

/// Threads that run what waits, each one request at a time. A thread that has had nothing to do for a while ends.
final class Workers: Sendable {
  typealias Work = @Sendable () -> Void

  private struct State {
    var waiting: [Work] = []
    /// Threads that wait for work, without those that a signal has called.
    var idle = 0
    var threads = 0
  }
  private let state = Mutex(State())
  private let called = Semaphore()
  private let maximumThreads: Int
  private static let idleMilliseconds = 5_000

  init(maximumThreads: Int) { self.maximumThreads = maximumThreads }

  /// Runs `work` on a thread. Work beyond `maximumThreads` waits.
  func run(_ work: @escaping Work) {
    enum Way { case call, start, leave }
    let way = state.withLock { state -> Way in
      state.waiting.append(work)
      if state.idle > 0 {
        state.idle -= 1
        return .call
      }
      guard state.threads < maximumThreads else { return .leave }
      state.threads += 1
      return .start
    }
    switch way {
    case .call: called.signal()
    case .start:
      if !DetachedThread.start({ self.loop() }) { state.withLock { $0.threads -= 1 } }
    case .leave: break
    }
  }

  private func loop() {
    while true {
      while let work = next() { work() }
      guard !called.wait(milliseconds: Self.idleMilliseconds) else { continue }
      if leave() { return }
      // `run` has counted on this thread, so its signal is this thread's.
      called.wait()
    }
  }

  /// Nil: the thread is idle from now on.
  private func next() -> Work? {
    state.withLock { state in
      guard state.waiting.isEmpty else { return state.waiting.removeFirst() }
      state.idle += 1
      return nil
    }
  }

  /// False if `run` counts on every idle thread.
  private func leave() -> Bool {
    state.withLock { state in
      guard state.idle > 0 else { return false }
      state.idle -= 1
      state.threads -= 1
      return true
    }
  }
}
