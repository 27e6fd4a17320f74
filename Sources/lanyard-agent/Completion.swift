internal import Glibc
internal import Synchronization
internal import UnixTransport

/// Lets the main thread, which is outside every task, wait for one.
final class Completion: @unchecked Sendable {
  // sem_t is made to be shared by threads; its address is fixed for its life.
  private let semaphore = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)

  init() { sem_init(semaphore, 0, 0) }

  func complete() { sem_post(semaphore) }

  func wait() { while sem_wait(semaphore) != 0, errno == EINTR {} }

  func wait(seconds: Int) {
    var deadline = timespec()
    clock_gettime(CLOCK_REALTIME, &deadline)
    deadline.tv_sec += seconds
    while sem_timedwait(semaphore, &deadline) != 0, errno == EINTR {}
  }
}

/// A value that one thread leaves for another.
final class Box<Value: Sendable>: Sendable {
  private let content = Mutex<Value?>(nil)
  var value: Value? {
    get { content.withLock { $0 } }
    set { content.withLock { $0 = newValue } }
  }
}

/// The agent is made before its transport, and ends it.
final class TransportHandle: Sendable {
  private let box = Box<LineServer>()
  var server: LineServer? {
    get { box.value }
    set { box.value = newValue }
  }

  func stop() { server?.stop() }
}
