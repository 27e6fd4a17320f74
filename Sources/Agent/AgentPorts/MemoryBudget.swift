internal import Synchronization

/// Bounds the memory that bodies of answers, or of requests, take together, whichever clients they are for.
///
/// Each body asks once for all the bytes that it may need, and those that have to wait are served in their order:
/// answers that asked for one piece after the other could each hold a part and wait for the others.
public final class MemoryBudget: Sendable {
  private struct Waiting: @unchecked Sendable { weak var share: Share? }
  private struct State {
    var free: Int
    /// What bodies of limited callers may still take: half of all, so that the owner's programs always have the other.
    var freeForLimited: Int
    var waiting: [Waiting] = []

    func hasRoom(for share: Share) -> Bool {
      share.bytes <= free && (!share.isLimited || share.bytes <= freeForLimited)
    }

    mutating func grant(_ share: Share) {
      free -= share.bytes
      if share.isLimited { freeForLimited -= share.bytes }
      share.grant()
    }
  }
  private let total: Int
  private let state: Mutex<State>

  public init(bytes: Int) {
    total = bytes
    state = Mutex(State(free: bytes, freeForLimited: bytes / 2))
  }

  /// A share of at most the whole budget, or of half of it for a limited caller. `granted` is called if it has to wait,
  /// once it is granted: from any thread.
  public func share(_ bytes: Int, isLimited: Bool = false, granted: @escaping @Sendable () -> Void) -> Share {
    let bytes = min(max(bytes, 0), isLimited ? total / 2 : total)
    let share = Share(bytes, isLimited: isLimited, of: self, granted: granted)
    let before = state.withLock { state -> [Share] in
      let before = state.waiting.compactMap(\.share)
      if state.hasRoom(for: share), !before.contains(where: { !$0.isLimited || isLimited }) {
        state.grant(share)
      } else {
        state.waiting.append(Waiting(share: share))
      }
      return before
    }
    // As in `take(back:)`: no last reference goes while the lock is held.
    withExtendedLifetime(before) {}
    return share
  }

  /// A share that is granted at once; nil if it would have to wait, or if it is larger than the budget.
  public func shareAtOnce(_ bytes: Int, isLimited: Bool = false) -> Share? {
    let share = Share(bytes, isLimited: isLimited, of: self) {}
    let isGranted = state.withLock { state in
      guard state.waiting.isEmpty, state.hasRoom(for: share) else { return false }
      state.grant(share)
      return true
    }
    return isGranted ? share : nil
  }

  /// Waits for a share; nil if the task is cancelled meanwhile.
  public func share(_ bytes: Int, isLimited: Bool = false) async -> Share? {
    let waiting = OneResume()
    let share = share(bytes, isLimited: isLimited) { waiting.resume() }
    if share.isGranted { return share }
    await withTaskCancellationHandler {
      await withCheckedContinuation { waiting.put($0) }
    } onCancel: {
      waiting.resume()
    }
    return share.isGranted ? share : nil
  }

  fileprivate func take(back bytes: Int, isLimited: Bool) {
    // A share whose last reference goes here calls this again, so none may go while the lock is held.
    let looked = state.withLock { state -> [Share] in
      state.free += bytes
      if isLimited { state.freeForLimited += bytes }
      let looked = state.waiting.compactMap(\.share)
      // In their order: one that does not fit holds up those behind it, a limited one only limited ones.
      var holdsUpLimited = false
      for share in looked {
        if share.isLimited, holdsUpLimited { continue }
        if state.hasRoom(for: share) {
          state.grant(share)
        } else if share.isLimited {
          holdsUpLimited = true
        } else {
          break
        }
      }
      state.waiting = looked.filter { !$0.isGranted }.map { Waiting(share: $0) }
      return looked
    }
    for share in looked where share.isGranted { share.granted() }
  }

  /// The bytes of one answer; given back when the last reference goes.
  public final class Share: Sendable {
    private struct Holding {
      var bytes: Int
      var isGranted = false
    }
    private let holding: Mutex<Holding>
    fileprivate let isLimited: Bool
    fileprivate let granted: @Sendable () -> Void
    private let budget: MemoryBudget

    fileprivate init(
      _ bytes: Int, isLimited: Bool, of budget: MemoryBudget, granted: @escaping @Sendable () -> Void
    ) {
      self.isLimited = isLimited
      holding = Mutex(Holding(bytes: bytes))
      self.granted = granted
      self.budget = budget
    }

    deinit { budget.take(back: isGranted ? bytes : 0, isLimited: isLimited) }

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
      if surplus > 0 { budget.take(back: surplus, isLimited: isLimited) }
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
