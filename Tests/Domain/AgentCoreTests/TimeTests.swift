import AgentModel
import Foundation
import Testing

@Suite struct TimeTests {
  @Test(
    arguments: [
      (0, "1970-01-01T00:00:00.000Z"), (1, "1970-01-01T00:00:00.001Z"), (-1, "1969-12-31T23:59:59.999Z"),
      (1_893_456_000_000, "2030-01-01T00:00:00.000Z"), (951_782_400_000, "2000-02-29T00:00:00.000Z"),
      (4_107_542_400_000, "2100-03-01T00:00:00.000Z"), (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
      (-62_135_596_800_000, "0001-01-01T00:00:00.000Z"), (-62_167_219_200_000, "0000-01-01T00:00:00.000Z"),
    ] as [(Int64, String)])
  func timestamp_isWrittenAsRFC3339(milliseconds: Int64, text: String) {
    #expect(Timestamp(milliseconds: milliseconds).rfc3339 == text)
  }

  /// Foundation writes the same text, for the years of the Gregorian calendar that the wire can carry.
  @Test func timestampText_agreesWithFoundation() {
    var random = SystemRandomNumberGenerator()
    let formatter = ISO8601DateFormatter()
    formatter.formatOptions = [.withInternetDateTime, .withFractionalSeconds]
    for _ in 0..<5000 {
      let milliseconds = Int64.random(in: -12_000_000_000_000..<253_402_300_800_000, using: &random)
      let text = Timestamp(milliseconds: milliseconds).rfc3339
      let date = formatter.date(from: text)
      let back = date.map { Int64(($0.timeIntervalSince1970 * 1000).rounded()) }
      #expect(back == milliseconds, "\(milliseconds) \(text)")
    }
  }

  /// Each day from 1600 to 2400 follows the day before, and comes back from its civil date.
  @Test func civilDates_roundTripForEightCenturies() {
    var expected = (year: Int64(1600), month: Int64(1), day: Int64(1))
    var instant = Timestamp(year: 1600, month: 1, day: 1)
    let lengths: [Int64] = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
    var wrong = 0
    while expected.year < 2400 {
      if Timestamp(year: expected.year, month: expected.month, day: expected.day) != instant { wrong += 1 }
      let text = instant.rfc3339.utf8.map { Int64($0) - 48 }
      let read = (
        text[0] * 1000 + text[1] * 100 + text[2] * 10 + text[3], text[5] * 10 + text[6], text[8] * 10 + text[9]
      )
      if read != (expected.year, expected.month, expected.day) { wrong += 1 }
      instant = instant + .seconds(86_400)
      let isLeap = expected.year % 4 == 0 && (expected.year % 100 != 0 || expected.year % 400 == 0)
      let length = lengths[Int(expected.month) - 1] + (isLeap && expected.month == 2 ? 1 : 0)
      expected.day += 1
      if expected.day > length { (expected.month, expected.day) = (expected.month + 1, 1) }
      if expected.month > 12 { (expected.year, expected.month) = (expected.year + 1, 1) }
    }
    #expect(wrong == 0)
  }

  @Test func timestamp_carriesHoursMinutesAndSeconds() {
    let instant = Timestamp(year: 2030, month: 2, day: 28, hour: 23, minute: 59, second: 58) + Milliseconds(7)
    #expect(instant.rfc3339 == "2030-02-28T23:59:58.007Z")
    #expect((instant + .seconds(2)).rfc3339 == "2030-03-01T00:00:00.007Z")
  }

  @Test func durationArithmetic_roundsTowardZero() {
    let boot = BootInstant(milliseconds: 1500)
    #expect(
      boot + .seconds(2) == BootInstant(milliseconds: 3500)
        && boot - BootInstant(milliseconds: 2500) == Milliseconds(-1000))
    #expect(Milliseconds(1999).wholeSeconds == 1 && Milliseconds(-1).wholeSeconds == -1)
    #expect(Milliseconds(-1000).wholeSeconds == -1 && Milliseconds.zero.wholeSeconds == 0)
    #expect(Milliseconds(3) * 2 / 4 == Milliseconds(1) && Milliseconds(1) < Milliseconds(2))
    #expect(Timestamp(milliseconds: 5) - Timestamp(milliseconds: 7) == Milliseconds(-2))
    #expect(BootInstant(milliseconds: 1) < BootInstant(milliseconds: 2))
  }
}
