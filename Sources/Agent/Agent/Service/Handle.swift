internal import Synchronization

/// A part of `AgentService` that is made after the parts that need it. `AgentService` owns it, so the reference is
/// weak.
final class Handle<Part: AnyObject & Sendable>: Sendable {
  private let part = Mutex<Weak>(Weak())
  private struct Weak: @unchecked Sendable { weak var part: Part? }

  var value: Part? {
    get { part.withLock { $0.part } }
    set { part.withLock { $0.part = newValue } }
  }
}
