import Glibc
internal import Threads

/// The threads of one listener: started, counted and joined here.
final class ListenerThreads: @unchecked Sendable {
  // `mutex` guards the counts and `members`; a condition variable needs a pthread mutex.
  private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  private let changed = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
  private var running = 0
  /// Running threads that wait in `join` themselves, and end when it returns.
  private var joining = 0
  private var members: Set<pthread_t> = []

  init() {
    pthread_mutex_init(mutex, nil)
    pthread_cond_init(changed, nil)
  }

  deinit {
    pthread_cond_destroy(changed)
    pthread_mutex_destroy(mutex)
    changed.deallocate()
    mutex.deallocate()
  }

  var count: Int { locked { running } }

  /// Runs `body` on a new thread; false if the system has no thread left.
  func start(_ body: @escaping @Sendable () -> Void) -> Bool {
    locked { running += 1 }
    let isStarted = DetachedThread.start {
      self.locked { _ = self.members.insert(pthread_self()) }
      body()
      self.ended(pthread_self())
    }
    if !isStarted { ended(nil) }
    return isStarted
  }

  /// Blocks until all threads have ended. Called on one of the threads, it waits only for those that are not in `join`.
  func join() {
    locked {
      let isMember = members.contains(pthread_self())
      if isMember { joining += 1 }
      pthread_cond_broadcast(changed)
      while running > (isMember ? joining : 0) { pthread_cond_wait(changed, mutex) }
      if isMember { joining -= 1 }
    }
  }

  private func ended(_ thread: pthread_t?) {
    locked {
      running -= 1
      if let thread { members.remove(thread) }
      pthread_cond_broadcast(changed)
    }
  }

  private func locked<Result>(_ body: () -> Result) -> Result {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    return body()
  }
}
