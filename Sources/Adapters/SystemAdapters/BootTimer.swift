internal import AgentModel
internal import CPlatform
internal import Glibc
internal import Synchronization
internal import Threads

/// Wakes tasks at moments of the boot clock, which counts while the machine sleeps.
///
/// `Task.sleep` is not used: on Linux, with one distant deadline pending, the runtime's timer fires once a second, and
/// an idle agent must not wake at all. Here one thread blocks on one kernel timer, and exists only while a task sleeps.
final class BootTimer: Sendable {
  static let shared = BootTimer()

  private typealias Sleeper = CheckedContinuation<Void, Never>

  private struct State {
    var sleepers = DeadlineQueue<Sleeper>()
    /// Sleepers that were cancelled before they began to wait.
    var cancelled: Set<UInt64> = []
    var next: UInt64 = 1
    var isRunning = false
  }

  private let state = Mutex(State())
  private let timer: Int32
  private let signal: Int32

  private init() {
    timer = lanyard_boot_timer()
    signal = lanyard_eventfd()
    precondition(timer >= 0 && signal >= 0, "no descriptor is left for the clock")
  }

  /// Returns at `deadline`, or at once when the task is cancelled.
  func sleep(until deadline: BootInstant) async {
    let id = state.withLock { state in
      defer { state.next += 1 }
      return state.next
    }
    await withTaskCancellationHandler {
      await withCheckedContinuation { add(id, $0, until: deadline) }
    } onCancel: {
      cancel(id)
    }
    state.withLock { _ = $0.cancelled.remove(id) }
  }

  /// The effect of a new sleeper on the thread, which checks all sleepers when its timer fires.
  private enum Thread { case sleeps, looksAgain, starts }

  private func add(_ id: UInt64, _ sleeper: Sleeper, until deadline: BootInstant) {
    let thread = state.withLock { state -> Thread? in
      if state.cancelled.remove(id) != nil { return nil }
      let earliest = state.sleepers.earliest
      state.sleepers.insert(id, sleeper, until: deadline)
      defer { state.isRunning = true }
      if !state.isRunning { return .starts }
      // Only a new earliest deadline concerns the thread.
      return earliest.map { deadline < $0 } ?? true ? .looksAgain : .sleeps
    }
    switch thread {
    case nil: sleeper.resume()
    case .starts?: start()
    case .looksAgain?: lanyard_eventfd_signal(signal)
    case .sleeps?: break
    }
  }

  private func cancel(_ id: UInt64) {
    let (sleeper, isNews) = state.withLock { state -> (Sleeper?, Bool) in
      let earliest = state.sleepers.earliest
      guard let sleeper = state.sleepers.remove(id) else {
        state.cancelled.insert(id)
        return (nil, false)
      }
      return (sleeper, state.sleepers.earliest != earliest)
    }
    sleeper?.resume()
    if isNews { lanyard_eventfd_signal(signal) }
  }

  private func start() {
    let isStarted = DetachedThread.start { BootTimer.shared.run() }
    // Without a thread no deadline can be kept. Waking every sleeper at once is the lesser evil: each checks the clock.
    if !isStarted { wakeDue(BootInstant(milliseconds: .max)) }
  }

  /// Ends when no task sleeps any more.
  private func run() {
    var fds = [
      pollfd(fd: timer, events: Int16(POLLIN), revents: 0), pollfd(fd: signal, events: Int16(POLLIN), revents: 0),
    ]
    while true {
      wakeDue(BootInstant(milliseconds: lanyard_boot_milliseconds()))
      let earliest = state.withLock { state -> BootInstant? in
        let earliest = state.sleepers.earliest
        if earliest == nil { state.isRunning = false }
        return earliest
      }
      guard let earliest else { return }
      lanyard_boot_timer_set(timer, max(1, earliest.milliseconds))
      _ = poll(&fds, 2, -1)
      _ = lanyard_eventfd_drain(signal)
    }
  }

  private func wakeDue(_ now: BootInstant) {
    let due = state.withLock { state -> [Sleeper] in
      if now.milliseconds == .max { state.isRunning = false }
      return state.sleepers.removeDue(at: now)
    }
    for sleeper in due { sleeper.resume() }
  }
}
