import AgentModel
import Testing

@Suite struct HTTPDateTests {
  static let now = Timestamp(year: 2030, month: 6, day: 1)

  @Test(arguments: [
    ("Sun, 06 Nov 1994 08:49:37 GMT", "1994-11-06T08:49:37.000Z"),
    ("Sunday, 06-Nov-94 08:49:37 GMT", "1994-11-06T08:49:37.000Z"),
    ("Sun Nov  6 08:49:37 1994", "1994-11-06T08:49:37.000Z"),
    ("Wed Nov 16 08:49:37 1994", "1994-11-16T08:49:37.000Z"),
    ("Thu, 29 Feb 2024 23:59:59 GMT", "2024-02-29T23:59:59.000Z"),
    ("Sat, 31 Dec 2016 23:59:60 GMT", "2017-01-01T00:00:00.000Z"),
    ("Friday, 31-Dec-80 00:00:00 GMT", "2080-12-31T00:00:00.000Z"),
    ("Friday, 31-Dec-81 00:00:00 GMT", "1981-12-31T00:00:00.000Z"),
  ])
  func httpDate_isReadInAllThreeForms(text: String, instant: String) {
    #expect(Timestamp(httpDate: text, now: Self.now)?.rfc3339 == instant)
  }

  @Test(arguments: [
    "", "now", "3600", "2030-01-01T00:00:00Z", "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Nov 1994 08:49:37 CET",
    "Son, 06 Nov 1994 08:49:37 GMT", "Sun, 6 Nov 1994 08:49:37 GMT", "Sun, 06 nov 1994 08:49:37 GMT",
    "Sun, 00 Nov 1994 08:49:37 GMT", "Sun, 31 Nov 1994 08:49:37 GMT", "Wed, 29 Feb 2023 08:49:37 GMT",
    "Sun, 06 Nov 1994 24:00:00 GMT", "Sun, 06 Nov 1994 08:60:00 GMT", "Sun, 06 Nov 1994 08:49:61 GMT",
    "Sun, 06 Nov 1994 8:49:37 GMT", "Sun, 06 Nov 94 08:49:37 GMT", "Sun, 06-Nov-94 08:49:37 GMT",
    "Sun, +6 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:37 GMT x",
  ])
  func malformedHTTPDate_isRefused(text: String) { #expect(Timestamp(httpDate: text, now: Self.now) == nil) }
}
