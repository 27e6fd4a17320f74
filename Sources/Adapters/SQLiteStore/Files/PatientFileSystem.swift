internal import CSQLite
internal import Glibc

/// SQLite's own file system with a bound on how long a call sleeps.
///
/// A reader of a WAL database that meets a foreign lock sleeps in growing pauses, ten seconds in all
/// (`walTryBeginRead`), also past the time of `sqlite3_busy_timeout`. With this file system the pauses end at a moment
/// that the calling thread has set; SQLite then counts its tries to the end at once and answers `SQLITE_PROTOCOL`.
enum PatientFileSystem {
  /// The name to open databases with; nil, the default file system, if it can't be registered.
  static let name: String? = {
    guard let system = sqlite3_vfs_find(nil) else { return nil }
    let patient = UnsafeMutablePointer<sqlite3_vfs>.allocate(capacity: 1)
    // Never freed: SQLite keeps the pointer as long as the process lives.
    patient.initialize(to: system.pointee)
    patient.pointee.zName = UnsafePointer(strdup("lanyard-patient"))
    patient.pointee.pNext = nil
    patient.pointee.xSleep = { _, microseconds in
      guard let system = sqlite3_vfs_find(nil) else { return 0 }
      guard let left = PatientFileSystem.microsecondsLeft else { return system.pointee.xSleep(system, microseconds) }
      return left > 0 ? system.pointee.xSleep(system, Int32(clamping: min(left, Int(microseconds)))) : 0
    }
    return sqlite3_vfs_register(patient, 0) == SQLITE_OK ? "lanyard-patient" : nil
  }()

  /// Sleeps of this thread end then; the deadline as microseconds of the monotonic clock.
  private static let deadline: pthread_key_t = {
    var key = pthread_key_t()
    pthread_key_create(&key, nil)
    return key
  }()

  /// From now on this thread sleeps no longer than this in all, until it is set anew.
  static func setPatience(milliseconds: Int) {
    pthread_setspecific(deadline, UnsafeRawPointer(bitPattern: now + milliseconds * 1_000))
  }

  /// Nil if the thread set none.
  private static var microsecondsLeft: Int? {
    guard let end = pthread_getspecific(deadline) else { return nil }
    return Int(bitPattern: end) - now
  }

  /// Microseconds of the monotonic clock.
  static var now: Int {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return time.tv_sec * 1_000_000 + time.tv_nsec / 1_000
  }
}
