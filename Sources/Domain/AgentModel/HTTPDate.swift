extension Timestamp {
  /// Parses an HTTP date in any of the three formats of RFC 9110 §5.6.7; nil for any other text.
  ///
  /// `now` resolves the two-digit year of the RFC 850 format: a year more than 50 years ahead means the century before.
  public init?(httpDate text: String, now: Timestamp) {
    let words = text.split(separator: " ", omittingEmptySubsequences: true).map(String.init)
    switch words.count {
    case 6:  // Sun, 06 Nov 1994 08:49:37 GMT
      guard HTTPDate.days.contains(where: { words[0] == $0.prefix(3) + "," }), words[5] == "GMT",
        let day = HTTPDate.number(words[1], digits: 2), let month = HTTPDate.month(words[2]),
        let year = HTTPDate.number(words[3], digits: 4)
      else { return nil }
      self.init(year: year, month: month, day: day, time: words[4])
    case 4:  // Sunday, 06-Nov-94 08:49:37 GMT
      let date = words[1].split(separator: "-", omittingEmptySubsequences: false).map(String.init)
      guard HTTPDate.days.contains(where: { words[0] == $0 + "," }), words[3] == "GMT", date.count == 3,
        let day = HTTPDate.number(date[0], digits: 2), let month = HTTPDate.month(date[1]),
        let shortYear = HTTPDate.number(date[2], digits: 2)
      else { return nil }
      self.init(year: HTTPDate.fullYear(shortYear, now: now), month: month, day: day, time: words[2])
    case 5:  // Sun Nov  6 08:49:37 1994
      guard HTTPDate.days.contains(where: { words[0] == $0.prefix(3) }), let month = HTTPDate.month(words[1]),
        let day = HTTPDate.number(words[2], digits: words[2].utf8.count == 1 ? 1 : 2),
        let year = HTTPDate.number(words[4], digits: 4)
      else { return nil }
      self.init(year: year, month: month, day: day, time: words[3])
    default: return nil
    }
  }

  private init?(year: Int64, month: Int64, day: Int64, time: String) {
    let parts = time.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
    guard parts.count == 3, let hour = HTTPDate.number(parts[0], digits: 2),
      let minute = HTTPDate.number(parts[1], digits: 2), let second = HTTPDate.number(parts[2], digits: 2),
      hour < 24, minute < 60, second <= 60,  // 60 is a leap second
      (1...CivilDate.length(ofMonth: month, year: year)).contains(day)
    else { return nil }
    self.init(year: year, month: month, day: day, hour: hour, minute: minute, second: second)
  }
}

private enum HTTPDate {
  static let days = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
  static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

  static func month(_ name: String) -> Int64? { months.firstIndex(of: name).map { Int64($0) + 1 } }

  static func number(_ text: String, digits: Int) -> Int64? {
    text.utf8.count == digits && text.utf8.allSatisfy { $0 &- UInt8(ascii: "0") < 10 } ? Int64(text) : nil
  }

  static func fullYear(_ shortYear: Int64, now: Timestamp) -> Int64 {
    let thisYear = CivilDate.from(daysSince1970: now.milliseconds.flooredDivision(by: 86_400_000).quotient).year
    let year = thisYear / 100 * 100 + shortYear
    return year > thisYear + 50 ? year - 100 : year
  }
}

extension CivilDate {
  fileprivate static func length(ofMonth month: Int64, year: Int64) -> Int64 {
    let next = month == 12 ? (year + 1, 1) : (year, month + 1)
    return daysSince1970(year: next.0, month: next.1, day: 1) - daysSince1970(year: year, month: month, day: 1)
  }
}
