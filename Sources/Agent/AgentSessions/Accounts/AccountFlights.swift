internal import AgentPorts
internal import AgentRecords
internal import AgentStore

/// Work in flight of one account: one for each key, which all its callers share. A caller that goes away ends no work. A
/// part of `Account`, to which all its functions are isolated.
final class AccountFlights<Key: Hashable & Sendable, Value: Sendable> {
  private typealias Caller = CheckedContinuation<Result<Value, AgentFailure>, Never>

  /// Work in flight at once; more programs than that are told to wait.
  private static var most: Int { 16 }

  /// What is refused for their number, for a person.
  private let what: String
  private var flights: [Key: [UInt64: Caller]] = [:]
  private var lastCaller: UInt64 = 0

  init(_ what: String) { self.what = what }

  /// Joins the work in flight for this key, or begins `work`, which has to call `end`.
  ///
  /// - Parameter place: where the account keeps these flights.
  static func ask(
    _ key: Key, of account: isolated Account, at place: @escaping @Sendable (isolated Account) -> AccountFlights,
    beginning work: @escaping @Sendable (isolated Account) async -> Void
  ) async throws(AgentFailure) -> Value {
    let flights = place(account)
    flights.lastCaller += 1
    let caller = flights.lastCaller
    let result: Result<Value, AgentFailure> = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        guard !Task.isCancelled else { return continuation.resume(returning: .failure(AgentFailure.cancelled)) }
        flights.join(key, caller, continuation, of: account, work)
      }
    } onCancel: {
      account.dependencies.background.start { await leave(key, caller, of: account, at: place) }
    }
    return try result.get()
  }

  private static func leave(
    _ key: Key, _ caller: UInt64, of account: isolated Account,
    at place: @Sendable (isolated Account) -> AccountFlights
  ) {
    place(account).flights[key]?.removeValue(forKey: caller)?.resume(returning: .failure(AgentFailure.cancelled))
  }

  private func join(
    _ key: Key, _ caller: UInt64, _ continuation: Caller, of account: isolated Account,
    _ work: @escaping @Sendable (isolated Account) async -> Void
  ) {
    if flights[key] != nil {
      flights[key]?[caller] = continuation
      return
    }
    guard flights.count < Self.most else {
      return continuation.resume(returning: .failure(AgentFailure.overloaded(what)))
    }
    flights[key] = [caller: continuation]
    let isStarted = account.dependencies.background.start { await work(account) }
    if !isStarted { end(key, .failure(.shuttingDown)) }
  }

  /// Answers the callers of this key.
  func end(_ key: Key, _ result: Result<Value, AgentFailure>) {
    guard let callers = flights.removeValue(forKey: key) else { return }
    Self.resume(callers, result)
  }

  /// Answers all callers.
  func endAll(_ error: AgentFailure) {
    let ended = flights
    flights = [:]
    for callers in ended.values { Self.resume(callers, .failure(error)) }
  }

  private static func resume(_ callers: [UInt64: Caller], _ result: Result<Value, AgentFailure>) {
    for (_, caller) in callers.sorted(by: { $0.key < $1.key }) { caller.resume(returning: result) }
  }
}
