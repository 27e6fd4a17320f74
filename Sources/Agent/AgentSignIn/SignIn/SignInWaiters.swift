internal import AgentModel

/// The callers that wait for the end of a sign-in.
///
/// They are not a part of `SignInJob`: a caller holds a copy of the job while it waits, and with it would hold a copy of
/// all callers that waited before it.
struct SignInWaiters {
  private struct Caller {
    var continuation: CheckedContinuation<Void, Never>
    /// When the caller's patience ends; nil if it has no end.
    var deadline: BootInstant?
  }

  /// Callers that wait for one sign-in at most.
  static let most = 256

  private var callers: [String: [UInt64: Caller]] = [:]
  private var lastID: UInt64 = 0

  /// Waits for `signIn` at one time.
  func count(for signIn: String) -> Int { callers[signIn]?.count ?? 0 }

  mutating func newID() -> UInt64 {
    lastID += 1
    return lastID
  }

  mutating func add(
    _ id: UInt64, for signIn: String, until deadline: BootInstant?, _ continuation: CheckedContinuation<Void, Never>
  ) {
    callers[signIn, default: [:]][id] = Caller(continuation: continuation, deadline: deadline)
  }

  /// A caller that no longer waits.
  mutating func remove(_ id: UInt64, for signIn: String) {
    guard let caller = callers[signIn]?.removeValue(forKey: id) else { return }
    if callers[signIn]?.isEmpty == true { callers[signIn] = nil }
    caller.continuation.resume()
  }

  /// The sign-in ended.
  mutating func resumeAll(for signIn: String) {
    for caller in (callers.removeValue(forKey: signIn) ?? [:]).values { caller.continuation.resume() }
  }

  /// Resumes the callers whose patience has ended. Returns when that of the next one does.
  mutating func resumeImpatient(at now: BootInstant) -> BootInstant? {
    for (signIn, waiting) in callers {
      for (id, caller) in waiting {
        if let deadline = caller.deadline, deadline <= now { remove(id, for: signIn) }
      }
    }
    return callers.values.joined().compactMap(\.value.deadline).min()
  }
}
