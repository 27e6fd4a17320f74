internal import Glibc

/// A moment of the clock that stands still while the machine is suspended, in milliseconds: a provider is not silent
/// while this machine sleeps.
struct MonotonicTime: Comparable {
  var milliseconds: Int

  static var now: MonotonicTime {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return MonotonicTime(milliseconds: time.tv_sec * 1_000 + time.tv_nsec / 1_000_000)
  }

  static func < (one: MonotonicTime, other: MonotonicTime) -> Bool { one.milliseconds < other.milliseconds }
  static func + (time: MonotonicTime, milliseconds: Int) -> MonotonicTime {
    MonotonicTime(milliseconds: time.milliseconds + milliseconds)
  }
}
