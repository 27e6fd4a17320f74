internal import Glibc

/// The answer of `HTTPRequest.beforeSending`, for which the transfer's thread waits.
final class Consent: @unchecked Sendable {
  // `isGiven` is written once, before the semaphore is raised.
  private let semaphore = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)
  private var isGiven = false
  private let ask: @Sendable () -> Void

  /// `ask` makes another thread call `answer`, once.
  init(ask: @escaping @Sendable () -> Void) {
    self.ask = ask
    sem_init(semaphore, 0, 0)
  }

  deinit {
    sem_destroy(semaphore)
    semaphore.deallocate()
  }

  func answer(_ isGiven: Bool) {
    self.isGiven = isGiven
    sem_post(semaphore)
  }

  /// Asks, and blocks until the answer is there.
  func isGivenNow() -> Bool {
    ask()
    while sem_wait(semaphore) != 0, errno == EINTR {}
    return isGiven
  }
}
