internal import AgentCore
internal import AgentModel
internal import AgentPorts
internal import Synchronization

/// The requests of operations that are on their way, and the outcomes that could not be stored yet.
final class OperationAttempts: Sendable {
  /// What became of a request that may have left.
  struct Unsettled: Sendable {
    enum Outcome: Sendable {
      case answered(OperationAnswer, retryAfter: Milliseconds?)
      case lost, unreadable, withheld, personWanted
    }

    var account: AccountID
    var outcome: Outcome
    var error: LastFailure?
  }

  private struct State {
    var inFlight: Set<[UInt8]> = []
    var unsettled: [[UInt8]: Unsettled] = [:]
  }

  private let state = Mutex(State())

  func begins(_ operation: [UInt8]) { state.withLock { _ = $0.inFlight.insert(operation) } }

  func ended(_ operation: [UInt8]) { state.withLock { _ = $0.inFlight.remove(operation) } }

  /// Until it is stored: the vault may be locked, or the disk may fail.
  func keep(_ outcome: Unsettled, of operation: [UInt8]) { state.withLock { $0.unsettled[operation] = outcome } }

  func isStored(_ operation: [UInt8]) { state.withLock { $0.unsettled[operation] = nil } }

  func unsettled(of account: AccountID) -> [[UInt8]: Unsettled] {
    state.withLock { state in state.unsettled.filter { $0.value.account == account } }
  }

  /// The operations that this process has sent, so that no restart interrupted them.
  var known: Set<[UInt8]> { state.withLock { $0.inFlight.union($0.unsettled.keys) } }
}
