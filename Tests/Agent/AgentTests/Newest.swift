import Synchronization

/// The highest number raised so far.
final class Newest: Sendable {
  private let highest = Mutex<Int64>(0)
  var value: Int64 { highest.withLock { $0 } }
  func raise(to new: Int64) { highest.withLock { $0 = max($0, new) } }
}
