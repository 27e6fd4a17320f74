package import AgentCore
package import AgentModel
internal import AgentPorts
internal import Synchronization

/// The requests of operations that are on their way, and the outcomes that could not be stored yet.
package final class OperationAttempts: Sendable {
  /// What became of a request that may have left.
  package struct Unsettled: Sendable {
    package enum Outcome: Sendable {
      case answered(OperationAnswer, retryAfter: Milliseconds?)
      case lost, unreadable, withheld, personWanted
    }

    package var account: AccountID
    package var outcome: Outcome
    var error: LastFailure? = nil

    package init(account: AccountID, outcome: Outcome, error: LastFailure? = nil) {
      self.account = account
      self.outcome = outcome
      self.error = error
    }
  }

  private struct State {
    var inFlight: Set<[UInt8]> = []
    var unsettled: [[UInt8]: Unsettled] = [:]
  }

  private let state = Mutex(State())

  package func begins(_ operation: [UInt8]) { state.withLock { _ = $0.inFlight.insert(operation) } }

  package func ended(_ operation: [UInt8]) { state.withLock { _ = $0.inFlight.remove(operation) } }

  /// Until it is stored: the vault may be locked, or the disk may fail.
  package func keep(_ outcome: Unsettled, of operation: [UInt8]) {
    state.withLock { $0.unsettled[operation] = outcome }
  }

  package func isStored(_ operation: [UInt8]) { state.withLock { $0.unsettled[operation] = nil } }

  package func unsettled(of account: AccountID) -> [[UInt8]: Unsettled] {
    state.withLock { state in state.unsettled.filter { $0.value.account == account } }
  }

  /// The operations that this process has sent, so that no restart interrupted them.
  package var known: Set<[UInt8]> { state.withLock { $0.inFlight.union($0.unsettled.keys) } }

  package init() {}
}

extension Operation {
  /// `jitter` is a fraction from 0 up to 1.
  package mutating func settle(
    _ unsettled: OperationAttempts.Unsettled, at now: Timestamp, jitter: Double
  ) -> [OperationMachine.Effect] {
    if let error = unsettled.error { lastError = error }
    switch unsettled.outcome {
    case .answered(let answer, let pause):
      let told = OperationMachine.Answer(status: answer.status, retryAfter: pause)
      let effects = machine.answered(told, at: now, jitter: jitter)
      if machine.status == .queued || machine.status == .unknown {
        lastError = LastFailure(kind: .providerUnavailable, at: now, reason: "status\(answer.status)")
      }
      return effects
    case .lost: return machine.lost(at: now, jitter: jitter)
    case .unreadable: return machine.unreadable()
    case .withheld: return machine.withheld()
    case .personWanted: return machine.personWanted()
    }
  }
}
