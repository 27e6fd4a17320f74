internal import CPlatform
internal import Glibc

/// Notices that the agent has written to its store, without asking it: an idle machine is not woken. It is a hint; without
/// it the log is looked at once a minute.
final class NewsWatch {
  /// Readable when there may be news, or the program ends.
  let descriptor: Int32
  private let watch: Int32

  var isWatching: Bool { watch >= 0 }

  /// The time after which the log is read without news.
  var longestMilliseconds: Int64 { isWatching ? 3_600_000 : 60_000 }

  init(state: String, _ ending: Ending) {
    descriptor = lanyard_readiness()
    watch = lanyard_watch_directory(state)
    _ = lanyard_readiness_add(descriptor, ending.descriptor, Int16(POLLIN), 0)
    if watch >= 0 { _ = lanyard_readiness_add(descriptor, watch, Int16(POLLIN), 1) }
  }

  deinit {
    if watch >= 0 { close(watch) }
    if descriptor >= 0 { close(descriptor) }
  }

  /// Call it before a reading, so that later news are noticed.
  func clear() { if watch >= 0 { _ = lanyard_watch_drain(watch) } }
}
