internal import Synchronization

/// Bounds the memory that bodies of answers take together, whichever clients they are for.
///
/// Each answer asks once for all the bytes that it may need, and those that have to wait are served in their order:
/// answers that asked for one piece after the other could each hold a part and wait for the others.
public final class MemoryBudget: Sendable {
  private struct Waiting: @unchecked Sendable { weak var share: Share? }
  private struct State {
    var free: Int
    var waiting: [Waiting] = []
  }
  private let total: Int
  private let state: Mutex<State>

  public init(bytes: Int) {
    total = bytes
    state = Mutex(State(free: bytes))
  }

  /// A share of at most the whole budget. `granted` is called if it has to wait, once it is granted: from any thread, and
  /// with no lock held.
  public func share(_ bytes: Int, granted: @escaping @Sendable () -> Void) -> Share {
    let share = Share(min(max(bytes, 0), total), of: self, granted: granted)
    state.withLock { state in
      if state.waiting.isEmpty, share.bytes <= state.free {
        state.free -= share.bytes
        share.grant()
      } else {
        state.waiting.append(Waiting(share: share))
      }
    }
    return share
  }

  /// Waits for a share; nil if the task is cancelled meanwhile.
  public func share(_ bytes: Int) async -> Share? {
    let waiting = OneResume()
    let share = share(bytes) { waiting.resume() }
    if share.isGranted { return share }
    await withTaskCancellationHandler {
      await withCheckedContinuation { waiting.put($0) }
    } onCancel: {
      waiting.resume()
    }
    return share.isGranted ? share : nil
  }

  fileprivate func take(back bytes: Int) {
    // A share whose last reference goes here calls this again, so none may go while the lock is held.
    let (served, next) = state.withLock { state -> ([Share], Share?) in
      state.free += bytes
      var served: [Share] = []
      while let first = state.waiting.first {
        guard let share = first.share else {
          state.waiting.removeFirst()
          continue
        }
        guard share.bytes <= state.free else { return (served, share) }
        state.waiting.removeFirst()
        state.free -= share.bytes
        share.grant()
        served.append(share)
      }
      return (served, nil)
    }
    for share in served { share.granted() }
    withExtendedLifetime(next) {}
  }

  /// The bytes of one answer; given back when the last reference goes.
  public final class Share: Sendable {
    private struct Holding {
      var bytes: Int
      var isGranted = false
    }
    private let holding: Mutex<Holding>
    fileprivate let granted: @Sendable () -> Void
    private let budget: MemoryBudget

    fileprivate init(_ bytes: Int, of budget: MemoryBudget, granted: @escaping @Sendable () -> Void) {
      holding = Mutex(Holding(bytes: bytes))
      self.granted = granted
      self.budget = budget
    }

    deinit { budget.take(back: isGranted ? bytes : 0) }

    /// Whether the bytes may be used now.
    public var isGranted: Bool { holding.withLock { $0.isGranted } }
    /// How much is granted, or asked for.
    public var bytes: Int { holding.withLock { $0.bytes } }
    fileprivate func grant() { holding.withLock { $0.isGranted = true } }

    /// Gives back what the answer does not need.
    public func shrink(to bytes: Int) {
      let surplus = holding.withLock { holding in
        guard holding.isGranted, bytes < holding.bytes else { return 0 }
        defer { holding.bytes = bytes }
        return holding.bytes - bytes
      }
      if surplus > 0 { budget.take(back: surplus) }
    }
  }
}

/// Resumes a continuation once, whichever comes first: the continuation, or the reason to resume it.
private final class OneResume: Sendable {
  private struct State {
    var continuation: CheckedContinuation<Void, Never>?
    var isOver = false
  }
  private let state = Mutex(State())

  func put(_ continuation: CheckedContinuation<Void, Never>) {
    let isOver = state.withLock { state in
      if !state.isOver { state.continuation = continuation }
      return state.isOver
    }
    if isOver { continuation.resume() }
  }

  func resume() {
    state.withLock { state in
      state.isOver = true
      return state.continuation.take()
    }?.resume()
  }
}
