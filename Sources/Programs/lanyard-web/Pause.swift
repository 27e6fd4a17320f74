internal import Glibc
internal import Threads

/// Waiting without work.
enum Pause {
  /// Waits so long, or until the wake-up comes, which is cleared.
  static func milliseconds(_ milliseconds: Int32, orReadable wakeUp: WakeUp) {
    var watched = pollfd(fd: wakeUp.descriptor, events: Int16(POLLIN), revents: 0)
    if poll(&watched, 1, milliseconds) > 0 { wakeUp.clear() }
  }
}
