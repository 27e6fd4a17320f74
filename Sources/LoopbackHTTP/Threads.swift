import Glibc
import Synchronization

/// The threads of one listener: started here, counted, and waited for.
final class Threads: Sendable {
  /// Enough for a handler that builds and signs a token; the default of 8 MiB would only be address space.
  private static let stackBytes = 1 << 20

  private struct State {
    var running = 0
    var members: Set<pthread_t> = []
  }

  private let state = Mutex(State())
  private let allDone = StopLatch()

  var count: Int { state.withLock { $0.running } }

  /// Runs `body` on a thread of its own; false if the system has none left.
  func start(_ body: @escaping @Sendable () -> Void) -> Bool {
    state.withLock { $0.running += 1 }
    let work = Unmanaged.passRetained(
      Work {
        self.state.withLock { _ = $0.members.insert(pthread_self()) }
        body()
        self.ended(pthread_self())
      }
    )
    var attributes = pthread_attr_t()
    pthread_attr_init(&attributes)
    defer { pthread_attr_destroy(&attributes) }
    pthread_attr_setstacksize(&attributes, Self.stackBytes)
    pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
    var thread = pthread_t()
    let result = pthread_create(
      &thread,
      &attributes,
      { argument in
        Unmanaged<Work>.fromOpaque(argument!).takeRetainedValue().body()
        return nil
      },
      work.toOpaque()
    )
    if result == 0 { return true }
    work.release()
    ended(nil)
    return false
  }

  /// Blocks until no thread is left, but for the caller's own if it is one of them.
  func join() {
    allDone.wait {
      self.state.withLock { $0.running == ($0.members.contains(pthread_self()) ? 1 : 0) }
    }
  }

  private func ended(_ thread: pthread_t?) {
    state.withLock {
      $0.running -= 1
      if let thread { $0.members.remove(thread) }
    }
    allDone.signal()
  }

  private final class Work: Sendable {
    let body: @Sendable () -> Void
    init(_ body: @escaping @Sendable () -> Void) { self.body = body }
  }
}

/// A condition variable, for waiting until something another thread changes has become true.
final class StopLatch: @unchecked Sendable {
  // The two are touched by the pthread calls only, which is what they are for.
  private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)

  init() {
    pthread_mutex_init(mutex, nil)
    pthread_cond_init(condition, nil)
  }

  deinit {
    pthread_cond_destroy(condition)
    pthread_mutex_destroy(mutex)
    condition.deallocate()
    mutex.deallocate()
  }

  func wait(until isTrue: () -> Bool) {
    pthread_mutex_lock(mutex)
    while !isTrue() { pthread_cond_wait(condition, mutex) }
    pthread_mutex_unlock(mutex)
  }

  func signal() {
    pthread_mutex_lock(mutex)
    pthread_cond_broadcast(condition)
    pthread_mutex_unlock(mutex)
  }
}
