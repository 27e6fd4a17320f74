public import AgentModel
public import AgentPorts
internal import Synchronization

/// The clocks of a simulated machine. They stand still while a task can run, and jump when all tasks wait.
///
/// There are three times: the true time, which the providers know; the wall clock, which a person may set; and the boot
/// clock, which begins again at each boot.
public final class VirtualClock: AgentClock {
  private struct Sleeper {
    let deadline: BootInstant
    let order: UInt64
    let wake: CheckedContinuation<Void, Never>
  }

  private struct State {
    var trueTime: Timestamp
    var wallOffset = Milliseconds.zero
    var bootedAt: Timestamp
    var boots = 1
    var sleepers: [UInt64: Sleeper] = [:]
    var order: UInt64 = 0
    /// Sleepers that were cancelled before they began to sleep.
    var cancelled: Set<UInt64> = []

    var boot: BootInstant { BootInstant(milliseconds: (trueTime - bootedAt).count) }

    /// The earliest deadline; among equals, the first that was added.
    var next: (id: UInt64, sleeper: Sleeper)? {
      sleepers.min { ($0.value.deadline, $0.value.order) < ($1.value.deadline, $1.value.order) }
        .map { ($0.key, $0.value) }
    }

    mutating func moveTo(_ instant: BootInstant) {
      if instant > boot { trueTime = trueTime + (instant - boot) }
    }
  }
  private let state: Mutex<State>

  /// The machine has been up for a while by default: a boot time of zero is a special case that a scenario asks for.
  public init(start: Timestamp = Timestamp(year: 2030, month: 1, day: 1), uptime: Milliseconds = .seconds(1000)) {
    state = Mutex(State(trueTime: start, bootedAt: start + (.zero - uptime)))
  }

  // MARK: what the agent sees

  public func wall() -> Timestamp { state.withLock { $0.trueTime + $0.wallOffset } }
  public func boot() -> BootInstant { state.withLock { $0.boot } }
  public var bootID: String { state.withLock { "boot-\($0.boots)" } }

  public func sleep(until deadline: BootInstant) async {
    let id = state.withLock { state in
      state.order += 1
      return state.order
    }
    await withTaskCancellationHandler {
      await withCheckedContinuation { wake in
        let isOver = state.withLock { state in
          if state.cancelled.remove(id) != nil || deadline <= state.boot { return true }
          state.sleepers[id] = Sleeper(deadline: deadline, order: id, wake: wake)
          return false
        }
        if isOver { wake.resume() }
      }
    } onCancel: {
      let sleeper = state.withLock { state in
        let sleeper = state.sleepers.removeValue(forKey: id)
        if sleeper == nil { state.cancelled.insert(id) }
        return sleeper
      }
      sleeper?.wake.resume()
    }
    state.withLock { _ = $0.cancelled.remove(id) }
  }

  /// The number of sleeping tasks.
  public var sleeping: Int { state.withLock { $0.sleepers.count } }

  /// Sleeps for a duration of virtual time.
  public func sleep(for duration: Milliseconds) async { await sleep(until: boot() + duration) }

  // MARK: what a scenario does

  /// The time on the providers' clocks; no change of this machine affects it.
  public var trueTime: Timestamp { state.withLock { $0.trueTime } }

  /// Jumps to the earliest sleeper and wakes it; false if no task sleeps, or none until `limit`.
  @discardableResult
  public func advanceToNext(limit: BootInstant? = nil) -> Bool {
    let sleeper = state.withLock { state -> Sleeper? in
      guard let (id, sleeper) = state.next, limit.map({ sleeper.deadline <= $0 }) ?? true else { return nil }
      state.sleepers[id] = nil
      state.moveTo(sleeper.deadline)
      return sleeper
    }
    sleeper?.wake.resume()
    return sleeper != nil
  }

  /// Lets time pass at once, as on a suspended machine: sleepers that became due meanwhile wake at the end.
  public func suspend(for duration: Milliseconds) {
    state.withLock { $0.trueTime = $0.trueTime + duration }
    let now = boot()
    while advanceToNext(limit: now) {}
  }

  /// Lets time pass at once until a moment of the boot clock; later sleepers stay asleep.
  func move(to instant: BootInstant) { state.withLock { $0.moveTo(instant) } }

  /// Sets the wall clock, as a person does; the other clocks do not change.
  public func setWall(_ new: Timestamp) {
    state.withLock { $0.wallOffset = new - $0.trueTime }
  }

  /// Restarts the machine after `duration` without power: a new boot id, and a boot clock at zero. Sleepers belong to
  /// dead processes; they are woken so that their tasks end.
  public func reboot(after duration: Milliseconds = .seconds(30)) {
    let sleepers = state.withLock { state in
      state.trueTime = state.trueTime + duration
      state.bootedAt = state.trueTime
      state.boots += 1
      defer { state.sleepers = [:] }
      return state.sleepers.values.sorted { $0.order < $1.order }
    }
    for sleeper in sleepers { sleeper.wake.resume() }
  }
}
