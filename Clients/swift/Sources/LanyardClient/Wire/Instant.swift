#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

/// Instants on the wire (RFC 3339 §5.6): UTC with milliseconds. Other offsets and fractions are read, too.
enum Instant {
  static func text(_ date: Date) -> String {
    let total = Int((date.timeIntervalSince1970 * 1000).rounded())
    let (seconds, milliseconds) = total.flooredQuotient(1000)
    let (days, second) = seconds.flooredQuotient(86_400)
    let (year, month, day) = civil(days)
    return "\(padded(year, 4))-\(padded(month, 2))-\(padded(day, 2))T"
      + "\(padded(second / 3600, 2)):\(padded(second / 60 % 60, 2)):\(padded(second % 60, 2))"
      + ".\(padded(milliseconds, 3))Z"
  }

  /// Nil if the text is not an instant. A leap second is read as the second before it.
  static func date(_ text: String) -> Date? {
    var text = Substring(text).utf8
    guard let year = digits(4, of: &text), skip("-", of: &text), let month = digits(2, of: &text), skip("-", of: &text),
      let day = digits(2, of: &text), skip("Tt", of: &text), let hour = digits(2, of: &text), skip(":", of: &text),
      let minute = digits(2, of: &text), skip(":", of: &text), let second = digits(2, of: &text),
      (1...12).contains(month), day >= 1, hour < 24, minute < 60, second <= 60,
      civil(days(year, month, day)) == (year, month, day)
    else { return nil }
    var fraction = 0.0
    if skip(".", of: &text) {
      var unit = 0.1
      guard let first = text.first, isDigit(first) else { return nil }
      while let digit = text.first, isDigit(digit) {
        fraction += Double(digit - UInt8(ascii: "0")) * unit
        unit /= 10
        text = text.dropFirst()
      }
    }
    var offset = 0
    if !skip("Zz", of: &text) {
      let sign = text.first == UInt8(ascii: "-") ? -1 : 1
      guard skip("+-", of: &text), let hours = digits(2, of: &text), skip(":", of: &text),
        let minutes = digits(2, of: &text)
      else { return nil }
      offset = sign * (hours * 3600 + minutes * 60)
    }
    guard text.isEmpty else { return nil }
    let seconds = days(year, month, day) * 86_400 + hour * 3600 + minute * 60 + min(second, 59) - offset
    return Date(timeIntervalSince1970: Double(seconds) + (fraction * 1_000_000).rounded() / 1_000_000)
  }

  private static func padded(_ value: Int, _ width: Int) -> String {
    let digits = String(value)
    return String(repeating: "0", count: max(0, width - digits.count)) + digits
  }

  private static func isDigit(_ byte: UInt8) -> Bool { byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9") }

  private static func digits(_ count: Int, of text: inout Substring.UTF8View) -> Int? {
    let taken = text.prefix(count)
    guard taken.count == count, taken.allSatisfy(isDigit) else { return nil }
    text = text.dropFirst(count)
    return taken.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
  }

  private static func skip(_ choices: StaticString, of text: inout Substring.UTF8View) -> Bool {
    guard let byte = text.first, choices.withUTF8Buffer({ $0.contains(byte) }) else { return false }
    text = text.dropFirst()
    return true
  }

  /// Days since 1970-01-01 of a date in the Gregorian calendar, counted in eras of 400 years from March.
  private static func days(_ year: Int, _ month: Int, _ day: Int) -> Int {
    let shifted = month <= 2 ? year - 1 : year
    let (era, yearOfEra) = shifted.flooredQuotient(400)
    let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
    return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
  }

  private static func civil(_ days: Int) -> (Int, Int, Int) {
    let (era, dayOfEra) = (days + 719_468).flooredQuotient(146_097)
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let shifted = (5 * dayOfYear + 2) / 153
    let month = shifted < 10 ? shifted + 3 : shifted - 9
    return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * shifted + 2) / 5 + 1)
  }
}

extension Int {
  /// The quotient rounded down, and the remainder, which is not negative.
  fileprivate func flooredQuotient(_ divisor: Int) -> (Int, Int) {
    let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
    return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
  }
}
