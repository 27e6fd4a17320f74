internal import Glibc

/// A moment of the clock that stands still while the machine is suspended, in milliseconds: a server is not silent
/// while this machine sleeps.
package struct MonotonicTime: Comparable, Sendable {
  package var milliseconds: Int

  package init(milliseconds: Int) { self.milliseconds = milliseconds }

  package static var now: MonotonicTime {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return MonotonicTime(milliseconds: time.tv_sec * 1_000 + time.tv_nsec / 1_000_000)
  }

  package static func < (one: MonotonicTime, other: MonotonicTime) -> Bool { one.milliseconds < other.milliseconds }
  package static func + (time: MonotonicTime, milliseconds: Int) -> MonotonicTime {
    MonotonicTime(milliseconds: time.milliseconds + milliseconds)
  }
  package static func - (one: MonotonicTime, other: MonotonicTime) -> Int { one.milliseconds - other.milliseconds }
}
