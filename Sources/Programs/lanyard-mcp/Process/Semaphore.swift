internal import Glibc

/// A counting semaphore (sem_overview(7)).
final class Semaphore: @unchecked Sendable {
  private let semaphore = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)

  init() { sem_init(semaphore, 0, 0) }

  deinit {
    sem_destroy(semaphore)
    semaphore.deallocate()
  }

  func signal() { sem_post(semaphore) }

  func wait() { while sem_wait(semaphore) != 0, errno == EINTR {} }

  /// False if the time passed first.
  func wait(milliseconds: Int) -> Bool {
    var until = timespec()
    clock_gettime(CLOCK_REALTIME, &until)
    until.tv_sec += milliseconds / 1_000
    until.tv_nsec += milliseconds % 1_000 * 1_000_000
    if until.tv_nsec >= 1_000_000_000 {
      until.tv_sec += 1
      until.tv_nsec -= 1_000_000_000
    }
    while sem_timedwait(semaphore, &until) != 0 {
      if errno != EINTR { return false }
    }
    return true
  }
}
