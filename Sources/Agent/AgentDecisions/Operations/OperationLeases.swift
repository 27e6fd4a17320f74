internal import AgentCore
internal import AgentModel
internal import AgentPorts
internal import AgentRecords
internal import Synchronization

/// The claims that have not ended. They are in memory only, so that they end with the agent.
final class OperationLeases: Sendable {
  struct Lease: Sendable {
    var account: AccountID
    var operation: [UInt8]
    var connection: UInt64
    var until: BootInstant
  }

  private let leases = Mutex<[OperationMachine.Claim: Lease]>([:])
  private let clock: any AgentClock
  /// Sleeps until the first claim ends.
  let alarm: Alarm

  init(clock: any AgentClock, background: BackgroundWork) {
    self.clock = clock
    alarm = Alarm(clock: clock, background: background)
  }

  func put(_ claim: OperationMachine.Claim, _ lease: Lease) { leases.withLock { $0[claim] = lease } }

  /// The lease that `claim` had; nil if it ended before.
  @discardableResult
  func remove(_ claim: OperationMachine.Claim) -> Lease? { leases.withLock { $0.removeValue(forKey: claim) } }

  func contains(_ claim: OperationMachine.Claim) -> Bool { leases.withLock { $0[claim] != nil } }

  func isLive(_ claim: OperationMachine.Claim, of account: AccountID) -> Bool {
    leases.withLock { $0[claim].map { $0.account == account && clock.boot() < $0.until } ?? false }
  }

  /// The claims whose time is not over.
  var live: Set<OperationMachine.Claim> {
    let now = clock.boot()
    return leases.withLock { leases in Set(leases.filter { now < $0.value.until }.keys) }
  }

  var firstEnd: BootInstant? { leases.withLock { $0.values.map(\.until).min() } }

  func claims(where matches: (Lease) -> Bool) -> [OperationMachine.Claim] {
    leases.withLock { leases in leases.filter { matches($0.value) }.keys.sorted() }
  }

  /// Claims go on, and end when the vault is open again.
  func vaultWasLocked() { alarm.clear() }
}
