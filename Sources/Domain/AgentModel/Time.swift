/// A moment on the wall clock, in milliseconds since 1970-01-01 UTC. Use it on the wire and for people, never for
/// lifetimes.
public struct Timestamp: Hashable, Comparable, Sendable {
  /// Milliseconds since 1970-01-01 UTC, without leap seconds.
  public var milliseconds: Int64

  public init(milliseconds: Int64) { self.milliseconds = milliseconds }

  public static func < (a: Timestamp, b: Timestamp) -> Bool { a.milliseconds < b.milliseconds }
  public static func + (a: Timestamp, b: Milliseconds) -> Timestamp {
    Timestamp(milliseconds: a.milliseconds + b.count)
  }
  public static func - (a: Timestamp, b: Timestamp) -> Milliseconds { Milliseconds(a.milliseconds - b.milliseconds) }

  /// RFC 3339 text in UTC with milliseconds: `2030-01-01T00:00:00.000Z`.
  public var rfc3339: String {
    let (days, rest) = milliseconds.flooredDivision(by: 86_400_000)
    let (year, month, day) = CivilDate.from(daysSince1970: days)
    return String(unsafeUninitializedCapacity: 48) { text in
      var count = 0
      func put(_ byte: UInt8) {
        text[count] = byte
        count += 1
      }
      func put(_ value: Int64, _ width: Int, _ end: UInt8) {
        var (digits, rest) = (1, value.magnitude)
        while rest >= 10 { (digits, rest) = (digits + 1, rest / 10) }
        digits = max(digits, width)
        rest = value.magnitude
        for position in (count..<count + digits).reversed() {
          text[position] = UInt8(ascii: "0") + UInt8(rest % 10)
          rest /= 10
        }
        count += digits
        put(end)
      }
      if year < 0 { put(UInt8(ascii: "-")) }
      put(year, 4, UInt8(ascii: "-"))
      put(month, 2, UInt8(ascii: "-"))
      put(day, 2, UInt8(ascii: "T"))
      put(rest / 3_600_000, 2, UInt8(ascii: ":"))
      put(rest / 60_000 % 60, 2, UInt8(ascii: ":"))
      put(rest / 1000 % 60, 2, UInt8(ascii: "."))
      put(rest % 1000, 3, UInt8(ascii: "Z"))
      return count
    }
  }

  /// The moment of a civil date and time in UTC. The values are not checked.
  public init(year: Int64, month: Int64, day: Int64, hour: Int64 = 0, minute: Int64 = 0, second: Int64 = 0) {
    let days = CivilDate.daysSince1970(year: year, month: month, day: day)
    milliseconds = ((days * 24 + hour) * 60 + minute) * 60_000 + second * 1000
  }
}

/// A moment on the clock that counts since boot, including sleep. Use it for lifetimes, windows and backoff.
public struct BootInstant: Hashable, Comparable, Sendable {
  /// Milliseconds since boot, including sleep.
  public var milliseconds: Int64

  public init(milliseconds: Int64) { self.milliseconds = milliseconds }

  public static func < (a: BootInstant, b: BootInstant) -> Bool { a.milliseconds < b.milliseconds }
  public static func + (a: BootInstant, b: Milliseconds) -> BootInstant {
    BootInstant(milliseconds: a.milliseconds + b.count)
  }
  public static func - (a: BootInstant, b: BootInstant) -> Milliseconds {
    Milliseconds(a.milliseconds - b.milliseconds)
  }
}

/// A duration in milliseconds; may be negative.
public struct Milliseconds: Hashable, Comparable, Sendable {
  /// Number of milliseconds.
  public var count: Int64

  public init(_ count: Int64) { self.count = count }

  /// A duration of whole seconds. It wraps on overflow, so callers bound their values.
  public static func seconds(_ seconds: Int64) -> Milliseconds { Milliseconds(seconds &* 1000) }
  /// An empty duration.
  public static let zero = Milliseconds(0)
  public static func < (a: Milliseconds, b: Milliseconds) -> Bool { a.count < b.count }
  public static func + (a: Milliseconds, b: Milliseconds) -> Milliseconds { Milliseconds(a.count + b.count) }
  public static func - (a: Milliseconds, b: Milliseconds) -> Milliseconds { Milliseconds(a.count - b.count) }
  public static func / (a: Milliseconds, b: Int64) -> Milliseconds { Milliseconds(a.count / b) }
  public static func * (a: Milliseconds, b: Int64) -> Milliseconds { Milliseconds(a.count * b) }
  /// Whole seconds, rounded down.
  public var wholeSeconds: Int64 { count.flooredDivision(by: 1000).quotient }
}

extension Int64 {
  func flooredDivision(by divisor: Int64) -> (quotient: Int64, remainder: Int64) {
    let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
    return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
  }
}

/// Conversions between day numbers and dates of the proleptic Gregorian calendar.
enum CivilDate {
  static func daysSince1970(year: Int64, month: Int64, day: Int64) -> Int64 {
    // Counting years from March puts the leap day last.
    let shifted = month <= 2 ? year - 1 : year
    let (era, yearOfEra) = shifted.flooredDivision(by: 400)
    let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
    return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
  }

  static func from(daysSince1970 days: Int64) -> (year: Int64, month: Int64, day: Int64) {
    let (era, dayOfEra) = (days + 719_468).flooredDivision(by: 146_097)
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let shifted = (5 * dayOfYear + 2) / 153
    let month = shifted + (shifted < 10 ? 3 : -9)
    return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * shifted + 2) / 5 + 1)
  }
}
