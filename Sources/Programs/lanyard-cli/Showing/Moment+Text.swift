import Glibc

extension Moment {
  /// A duration in one whole unit: "45 seconds", "5 minutes", "49 hours", "7 days".
  static func spelledOut(_ seconds: Int) -> String {
    func counted(_ count: Int, _ unit: String) -> String { "\(count) \(unit)\(count == 1 ? "" : "s")" }
    return switch seconds {
    case ..<120: counted(max(0, seconds), "second")
    case ..<7200: counted(seconds / 60, "minute")
    case ..<259_200: counted(seconds / 3600, "hour")
    default: counted(seconds / 86_400, "day")
    }
  }

  /// Local time: "today at 14:03", "tomorrow at 09:00", "on 12 January at 09:00".
  var local: String {
    let (then, today) = (fields, Moment.now.fields)
    let time = "at \(Self.twoDigits(then.tm_hour)):\(Self.twoDigits(then.tm_min))"
    let tomorrow = Moment(seconds: Moment.now.seconds + 86_400).fields
    if then.tm_year == today.tm_year, then.tm_yday == today.tm_yday { return "today \(time)" }
    if then.tm_year == tomorrow.tm_year, then.tm_yday == tomorrow.tm_yday { return "tomorrow \(time)" }
    let months = [
      "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
      "December",
    ]
    let year = then.tm_year == today.tm_year ? "" : " \(then.tm_year + 1900)"
    return "on \(then.tm_mday) \(months[Int(then.tm_mon)])\(year) \(time)"
  }

  /// Local time, for lists: 2030-01-12 09:00:27.
  var dateAndTime: String {
    "\(fields.tm_year + 1900)-\(Self.twoDigits(fields.tm_mon + 1))-\(Self.twoDigits(fields.tm_mday)) \(clock)"
  }

  /// Local time of day: 14:03:27.
  var clock: String {
    let fields = self.fields
    return [fields.tm_hour, fields.tm_min, fields.tm_sec].map(Self.twoDigits).joined(separator: ":")
  }

  private static func twoDigits(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }

  private var fields: tm {
    var seconds = time_t(self.seconds)
    var fields = tm()
    localtime_r(&seconds, &fields)
    return fields
  }

  /// RFC 3339 in UTC with milliseconds, as the contract requires.
  var rfc3339: String { "\(rfc3339Seconds.dropLast()).000Z" }

  /// RFC 3339 in UTC without a fraction, which some tools do not read.
  var rfc3339Seconds: String {
    var seconds = time_t(self.seconds)
    var fields = tm()
    gmtime_r(&seconds, &fields)
    func digits(_ number: Int32, _ count: Int) -> String {
      let text = String(number)
      return String(repeating: "0", count: max(0, count - text.count)) + text
    }
    let date = "\(digits(fields.tm_year + 1900, 4))-\(digits(fields.tm_mon + 1, 2))-\(digits(fields.tm_mday, 2))"
    return "\(date)T\(digits(fields.tm_hour, 2)):\(digits(fields.tm_min, 2)):\(digits(fields.tm_sec, 2))Z"
  }
}
