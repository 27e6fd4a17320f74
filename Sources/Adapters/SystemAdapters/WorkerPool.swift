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
    var started = 0
    /// Threads that sleep, or that were woken and have not looked for a job yet.
    var idle = 0
    /// Idle threads that were woken.
    var woken = 0

    var waiting: Int { jobs.count - first }

    mutating func next() -> UnownedJob? {
      guard waiting > 0 else { return nil }
      defer {
        first += 1
        if first == jobs.count {
          jobs.removeAll(keepingCapacity: jobs.capacity <= 1024)
          first = 0
        }
      }
      return jobs[first]
    }
  }

  private let state = Mutex(State())
  private let wakeUps: Semaphore

  public init() { wakeUps = Semaphore() }

  private enum Help { case none, wake, start }

  /// A thread looks for a job before it sleeps. So a job needs a thread to be woken for it only if fewer are on their way
  /// than jobs wait: most jobs are the next step of one that ends, whose thread takes it.
  public func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    let help = state.withLock { state -> Help in
      state.jobs.append(job)
      if state.woken < min(state.waiting, state.idle) {
        state.woken += 1
        return .wake
      }
      guard state.idle < state.waiting, state.started < Self.threads else { return .none }
      state.started += 1
      return .start
    }
    switch help {
    case .none: break
    case .wake: wakeUps.signal()
    case .start: start()
    }
  }

  private func start() {
    let isStarted = DetachedThread.start { self.run() }
    precondition(isStarted || state.withLock { $0.started } > 1, "not one thread can be started")
  }

  /// Never returns: the pool lives as long as its process.
  private func run() {
    var isWiped = true
    while true {
      let job = state.withLock { state in
        let job = state.next()
        if job == nil { state.idle += 1 }
        return job
      }
      if let job {
        job.runSynchronously(on: asUnownedTaskExecutor())
        isWiped = false
      } else {
        if !isWiped { wipeStack(.agent) }
        isWiped = true
        wakeUps.wait()
        state.withLock { state in
          state.idle -= 1
          state.woken -= 1
        }
      }
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
