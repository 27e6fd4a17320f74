internal import CPlatform
import Glibc

/// The threads of one listener: started here, counted, and waited for.
final class Threads: @unchecked Sendable {
  /// Enough for a handler that builds and signs a token; the default of 8 MiB would only be address space.
  private static let stackBytes = 1 << 20

  // The counts and `members` are touched under `mutex` only; a condition variable needs a mutex of its own kind.
  private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  private let changed = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
  private var running = 0
  /// Those of the running ones that wait in `join`, and will end when it returns.
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

  /// Runs `body` on a thread of its own; false if the system has none left.
  func start(_ body: @escaping @Sendable () -> Void) -> Bool {
    locked { running += 1 }
    let work = Work {
      self.locked { _ = self.members.insert(pthread_self()) }
      body()
      self.ended(pthread_self())
    }
    if work.run(stackBytes: Self.stackBytes) { return true }
    ended(nil)
    return false
  }

  /// Blocks until no thread is left; one of the threads itself waits only for those that do not wait here, too.
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

/// A closure on its way to a new thread.
private final class Work: Sendable {
  private let body: @Sendable () -> Void

  init(_ body: @escaping @Sendable () -> Void) { self.body = body }

  /// False if no thread could be made.
  func run(stackBytes: Int) -> Bool {
    var attributes = pthread_attr_t()
    pthread_attr_init(&attributes)
    defer { pthread_attr_destroy(&attributes) }
    pthread_attr_setstacksize(&attributes, stackBytes)
    pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
    let reference = Unmanaged.passRetained(self)
    var thread = pthread_t()
    let main: @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? = { argument in
      // The work is let go of on its own thread, after it is done.
      Unmanaged<Work>.fromOpaque(argument!).takeRetainedValue().body()
      lanyard_wipe_stack()
      return nil
    }
    guard pthread_create(&thread, &attributes, main, reference.toOpaque()) == 0 else {
      reference.release()
      return false
    }
    return true
  }
}
