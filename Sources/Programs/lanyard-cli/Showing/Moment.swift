import Glibc

/// An instant of the contract, with texts for people.
struct Moment: Comparable {
  /// Seconds since 1970 UTC.
  let seconds: Int

  init(seconds: Int) { self.seconds = seconds }

  /// From RFC 3339 in UTC. Drops fractions of a second.
  init?(_ text: String) {
    let bytes = Array(text.utf8)
    guard bytes.count >= 20, bytes.last == UInt8(ascii: "Z") else { return nil }
    func number(_ range: Range<Int>) -> Int32? { Int32(String(decoding: bytes[range], as: UTF8.self)) }
    guard let year = number(0..<4), let month = number(5..<7), let day = number(8..<10), let hour = number(11..<13),
      let minute = number(14..<16), let second = number(17..<19)
    else { return nil }
    var fields = tm()
    (fields.tm_year, fields.tm_mon, fields.tm_mday) = (year - 1900, month - 1, day)
    (fields.tm_hour, fields.tm_min, fields.tm_sec) = (hour, minute, second)
    seconds = timegm(&fields)
  }

  static var now: Moment { now(offsetMilliseconds: 0) }

  /// The time of a clock that is ahead of this machine's by `offsetMilliseconds`. `time(nil)` would not do: it lags by a
  /// tick of the kernel, so that what happened now would still be to come.
  static func now(offsetMilliseconds: Int) -> Moment {
    var now = timespec()
    clock_gettime(CLOCK_REALTIME, &now)
    let (milliseconds, overflows) = (now.tv_sec * 1_000 + now.tv_nsec / 1_000_000)
      .addingReportingOverflow(offsetMilliseconds)
    return Moment(seconds: (overflows ? now.tv_sec * 1_000 : milliseconds) / 1_000)
  }

  static func < (a: Moment, b: Moment) -> Bool { a.seconds < b.seconds }

  /// "in 4 min", "3 h ago", "now".
  var relative: String { relative(to: .now) }

  func relative(to now: Moment) -> String {
    let distance = seconds - now.seconds
    if distance == 0 { return "now" }
    return distance > 0 ? "in \(Self.span(distance))" : "\(Self.span(-distance)) ago"
  }

  /// A duration in one unit, rounded: "45 s", "4 min", "3 h", "7 days".
  static func span(_ seconds: Int) -> String {
    switch seconds {
    case ..<90: "\(seconds) s"
    case ..<(90 * 60): "\((seconds + 30) / 60) min"
    case ..<(36 * 3600): "\((seconds + 1800) / 3600) h"
    default: "\((seconds + 43_200) / 86_400) days"
    }
  }

  /// Minutes and seconds: 9:07.
  static func countdown(_ seconds: Int) -> String { "\(seconds / 60):\(seconds % 60 < 10 ? "0" : "")\(seconds % 60)" }
}
