internal import CPlatform
internal import Glibc
internal import Synchronization

/// The agent's own threads for its tasks.
///
/// The runtime's default pool ticks once a second from its first job on, as long as the process lives. These threads
/// block until there is work: an idle agent does not wake. A few are enough, since nothing here computes for long; more
/// than one, so that a commit which waits for the disk holds up nobody's answer.
public final class WorkerPool: TaskExecutor {
  private static let threads = 4
  /// Deep enough for a JSON line of the deepest nesting, and small against 4 of them.
  private static let stackBytes = 512 << 10

  private struct State {
    var jobs: [UnownedJob] = []
    var first = 0
    var idle = 0
    var started = 0
  }

  private let state = Mutex(State())
  private let work: Semaphore

  public init() { work = Semaphore() }

  public func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    let mustStart = state.withLock { state -> Bool in
      state.jobs.append(job)
      guard state.idle < state.jobs.count - state.first, state.started < Self.threads else { return false }
      state.started += 1
      return true
    }
    if mustStart { start() }
    work.signal()
  }

  private func start() {
    var attributes = pthread_attr_t()
    pthread_attr_init(&attributes)
    pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
    pthread_attr_setstacksize(&attributes, Self.stackBytes)
    var thread = pthread_t()
    let failed = pthread_create(
      &thread, &attributes,
      { pool in
        Unmanaged<WorkerPool>.fromOpaque(pool!).takeRetainedValue().run()
        return nil
      }, Unmanaged.passRetained(self).toOpaque())
    pthread_attr_destroy(&attributes)
    precondition(failed == 0 || state.withLock { $0.started } > 1, "not one thread can be started")
  }

  /// Never ends: a pool lives as long as its process.
  private func run() {
    while true {
      state.withLock { $0.idle += 1 }
      lanyard_wipe_stack()
      work.wait()
      let job = state.withLock { state -> UnownedJob in
        state.idle -= 1
        let job = state.jobs[state.first]
        state.first += 1
        if state.first == state.jobs.count {
          state.jobs.removeAll(keepingCapacity: state.jobs.capacity <= 1024)
          state.first = 0
        }
        return job
      }
      job.runSynchronously(on: asUnownedTaskExecutor())
    }
  }
}

/// A counting semaphore for threads that are outside every task.
public final class Semaphore: @unchecked Sendable {
  // sem_t is made to be shared by threads; its address is fixed for its life.
  private let semaphore = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)

  public init() { sem_init(semaphore, 0, 0) }

  deinit {
    sem_destroy(semaphore)
    semaphore.deallocate()
  }

  public func signal() { sem_post(semaphore) }

  public func wait() { while sem_wait(semaphore) != 0, errno == EINTR {} }

  /// False if it was not signalled in time.
  public func wait(seconds: Int) -> Bool {
    var deadline = timespec()
    clock_gettime(CLOCK_REALTIME, &deadline)
    deadline.tv_sec += seconds
    while sem_timedwait(semaphore, &deadline) != 0 {
      if errno != EINTR { return false }
    }
    return true
  }
}
