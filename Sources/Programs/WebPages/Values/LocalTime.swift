internal import AgentModel

/// Moments as a person reads them. They are absolute, so that a page that stays open says nothing wrong.
struct LocalTime: Sendable {
  let now: Timestamp
  let secondsFromUTC: Int

  /// `14:02` today, `Tue 14:02` within six days, `2 Dec` within half a year, else `2 Dec 2031`.
  func short(_ moment: Timestamp) -> String {
    let (there, here) = (fields(moment), fields(now))
    let days = there.day - here.day
    if days == 0 { return there.clock }
    if days.magnitude < 7 { return "\(there.weekday) \(there.clock)" }
    return days.magnitude < 180 ? there.date : "\(there.date) \(there.year)"
  }

  /// `Tue 2 Dec 2031, 14:02`
  func long(_ moment: Timestamp) -> String {
    let there = fields(moment)
    return "\(there.weekday) \(there.date) \(there.year), \(there.clock)"
  }

  /// `Tue 2 Dec`
  func day(_ moment: Timestamp) -> String {
    let there = fields(moment)
    return "\(there.weekday) \(there.date)"
  }

  /// `14:02`
  func clock(_ moment: Timestamp) -> String { fields(moment).clock }

  private struct Fields {
    /// Since 1970, of local time.
    var day: Int64
    var clock: String
    var weekday: String
    var date: String
    var year: String
  }

  private func fields(_ moment: Timestamp) -> Fields {
    let local = Timestamp(milliseconds: moment.milliseconds + Int64(secondsFromUTC) * 1000)
    var day = local.milliseconds / 86_400_000
    if local.milliseconds % 86_400_000 < 0 { day -= 1 }
    // `2030-01-01T00:00:00.000Z`
    let text = Array(local.rfc3339.utf8.map { Character(Unicode.Scalar($0)) })
    let parts = local.rfc3339.split(separator: "T")
    let date = parts[0].split(separator: "-").compactMap { Int($0) }
    let clock = String(parts[1].prefix(5))
    guard date.count == 3, text.first != "-" else {
      return Fields(day: day, clock: clock, weekday: "", date: String(parts[0]), year: "")
    }
    // 1970-01-01 was a Thursday.
    let weekday = Self.weekdays[Int(((day % 7) + 7 + 4) % 7)]
    return Fields(
      day: day, clock: clock, weekday: weekday, date: "\(date[2]) \(Self.months[date[1] - 1])", year: String(date[0]))
  }

  private static let weekdays = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
  private static let months = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ]
}

extension Milliseconds {
  /// `3 days`, `5 h`, `20 min`, `45 s`: the largest unit, rounded down.
  var words: String {
    let seconds = max(0, count / 1000)
    switch seconds {
    case 172_800...: return "\(seconds / 86_400) days"
    case 86_400...: return "1 day"
    case 3600...: return "\(seconds / 3600) h"
    case 60...: return "\(seconds / 60) min"
    default: return "\(seconds) s"
    }
  }
}
