internal import Glibc

/// Waits on this thread.
func pause(_ milliseconds: Int) {
  var rest = timespec(tv_sec: milliseconds / 1_000, tv_nsec: milliseconds % 1_000 * 1_000_000)
  while true {
    let time = rest
    let result = withUnsafePointer(to: time) { nanosleep($0, &rest) }
    guard result != 0, errno == EINTR else { return }
  }
}
