internal import Glibc
internal import Synchronization
internal import Threads

/// The agent's own threads for its tasks.
///
/// The runtime's default pool wakes once a second from its first job on, as long as the process lives. These threads
/// block until there is work, so that an idle agent does not wake. Four are enough, since no job computes for long;
/// more than one, so that a commit which waits for the disk delays no other request.
public final class WorkerPool: TaskExecutor {
  private static let threads = 4

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
    let isStarted = DetachedThread.start { self.run() }
    precondition(isStarted || state.withLock { $0.started } > 1, "not one thread can be started")
  }

  /// Never returns: the pool lives as long as its process.
  private func run() {
    while true {
      state.withLock { $0.idle += 1 }
      wipeStack(.agent)
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

/// A counting semaphore for threads outside every task.
public final class Semaphore: @unchecked Sendable {
  // `sem_t` is made to be shared by threads and has a fixed address.
  private let semaphore = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)

  public init() { sem_init(semaphore, 0, 0) }

  deinit {
    sem_destroy(semaphore)
    semaphore.deallocate()
  }

  public func signal() { sem_post(semaphore) }

  public func wait() { while sem_wait(semaphore) != 0, errno == EINTR {} }

  /// False if no signal came in time.
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
