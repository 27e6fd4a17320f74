internal import AgentModel
internal import Glibc

/// The zone of this machine.
enum LocalTime {
  /// What local time is ahead of UTC at a moment, in seconds.
  static func secondsFromUTC(at moment: Timestamp) -> Int {
    var seconds = time_t(moment.milliseconds / 1000)
    var local = tm()
    return localtime_r(&seconds, &local) == nil ? 0 : local.tm_gmtoff
  }
}
