/// Writes IMF-fixdate (RFC 9110 section 5.6.7), which is English and GMT in every locale. The agent only reads such
/// dates (`Timestamp(httpDate:)`); with calendar arithmetic of its own, the provider is a second opinion on that
/// reader.
package enum HTTPDate {
  private static let days = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
  private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

  package static func text(milliseconds: Int64) -> String {
    let seconds = floorDivide(milliseconds, 1000)
    let day = floorDivide(seconds, 86_400)
    let time = seconds - day * 86_400
    let (year, month, dayOfMonth) = civil(day)
    let weekday = days[Int(((day % 7) + 7) % 7)]
    return "\(weekday), \(two(dayOfMonth)) \(months[Int(month) - 1]) \(year) "
      + "\(two(time / 3600)):\(two(time / 60 % 60)):\(two(time % 60)) GMT"
  }

  /// Year, month and day of a day counted from 1970-01-01. Years begin in March here, so that the leap day is the last.
  private static func civil(_ day: Int64) -> (Int64, Int64, Int64) {
    let shifted = day + 719_468
    let era = floorDivide(shifted, 146_097)
    let dayOfEra = shifted - era * 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let shiftedMonth = (5 * dayOfYear + 2) / 153
    let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
    return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * shiftedMonth + 2) / 5 + 1)
  }

  private static func floorDivide(_ value: Int64, _ by: Int64) -> Int64 {
    value >= 0 ? value / by : (value - by + 1) / by
  }

  private static func two(_ number: Int64) -> String { number < 10 ? "0\(number)" : "\(number)" }
}
