internal import AgentCore
package import AgentModel
package import AgentPorts
package import AgentRecords
internal import Synchronization

/// Locks the vault when no request has used it for the configured time. Does nothing, and costs nothing, unless the
/// person configured one.
package final class IdleWatch: Sendable {
  private let isOn: Bool
  private let machine: Mutex<IdleLock?>
  private let clock: any AgentClock
  private let background: BackgroundWork
  private let alarm: Alarm
  private let lock: @Sendable () async -> Void

  package init(
    after limit: Milliseconds?, clock: any AgentClock, background: BackgroundWork,
    lock: @escaping @Sendable () async -> Void
  ) {
    isOn = limit != nil
    machine = Mutex(limit.map { IdleLock(after: $0) })
    self.clock = clock
    self.background = background
    alarm = Alarm(clock: clock, background: background)
    self.lock = lock
  }

  package func opened() { follow { $0.opened(at: $1) } }
  package func closed() { change { $0.closed() } }

  /// Records an answer from memory, on the reading thread.
  package func used(at now: BootInstant) { change { $0.used(at: now) } }

  /// A request that uses the vault begins.
  package func began() { change { $0.began(at: clock.boot()) } }

  /// A request that uses the vault has ended.
  package func ended() { follow { $0.ended(at: $1) } }

  @discardableResult
  private func change<Result: Sendable>(_ body: (inout IdleLock) -> Result) -> Result? {
    guard isOn else { return nil }
    return machine.withLock { machine in
      guard var idle = machine else { return nil }
      defer { machine = idle }
      return body(&idle)
    }
  }

  private func follow(_ body: (inout IdleLock, BootInstant) -> IdleLock.Effect?) {
    switch change({ body(&$0, clock.boot()) }) ?? nil {
    case .sleep(let until): sleep(until: until)
    case .lock: background.start { [lock] in await lock() }
    case nil: break
    }
  }

  private func sleep(until moment: BootInstant) {
    alarm.set(moment) { [self] in
      follow { $0.woke(planned: moment, at: $1) }
      return nil
    }
  }
}
