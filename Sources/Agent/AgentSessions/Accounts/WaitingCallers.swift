internal import AgentCore
internal import AgentModel
internal import AgentRecords
internal import AgentStore

/// The callers of one account that wait for a token, by the ids that `TokenMachine` refers to.
struct WaitingCallers {
  typealias Continuation = CheckedContinuation<Result<TokenAnswer, AgentFailure>, Never>

  private var callers: [UInt64: (key: TokenKey, continuation: Continuation)] = [:]
  private var lastID: UInt64 = 0

  /// In the order of the requests.
  var ids: [UInt64] { callers.keys.sorted() }

  mutating func newID() -> UInt64 {
    lastID += 1
    return lastID
  }

  mutating func add(_ id: UInt64, key: TokenKey, _ continuation: Continuation) { callers[id] = (key, continuation) }

  /// The key of the token that the caller waits for; nil if it was answered.
  func key(of id: UInt64) -> TokenKey? { callers[id]?.key }

  /// Answers a caller once; later answers are ignored.
  mutating func answer(_ id: UInt64, _ result: Result<TokenAnswer, AgentFailure>) {
    let caller = callers.removeValue(forKey: id)
    if callers.isEmpty { callers = [:] }  // an empty table keeps its memory
    caller?.continuation.resume(returning: result)
  }
}
