import JSONRPC
import MetricsExposition
import Testing

/// The text of figures: OpenMetrics 1.0 and the text format 0.0.4.
struct ExpositionTests {
  @Test("OpenMetrics: types, units, helps, a counter's suffix and creation, cumulated buckets, and the end")
  func openMetrics() throws {
    #expect(
      try page().text(.openMetrics) == """
        # HELP lanyard_up 1 if the agent told its figures, 0 if none answered.
        # TYPE lanyard_up gauge
        lanyard_up 1
        # HELP lanyard_build The agent's version.
        # TYPE lanyard_build info
        lanyard_build_info{version="1.2.3"} 1
        # HELP lanyard_start_time_seconds Start.
        # TYPE lanyard_start_time_seconds gauge
        # UNIT lanyard_start_time_seconds seconds
        lanyard_start_time_seconds 1893456000
        # HELP lanyard_exchanges Refreshes \\"that\\" ended.
        # TYPE lanyard_exchanges counter
        lanyard_exchanges_total{issuer="abc",outcome="renewed"} 7
        lanyard_exchanges_created{issuer="abc",outcome="renewed"} 1893456000.0
        # HELP lanyard_wait_seconds Waits.
        # TYPE lanyard_wait_seconds histogram
        # UNIT lanyard_wait_seconds seconds
        lanyard_wait_seconds_bucket{kind="token",le="0.005"} 1
        lanyard_wait_seconds_bucket{kind="token",le="1.0"} 3
        lanyard_wait_seconds_bucket{kind="token",le="+Inf"} 7
        lanyard_wait_seconds_count{kind="token"} 7
        lanyard_wait_seconds_sum{kind="token"} 61.25
        lanyard_wait_seconds_created{kind="token"} 1893456000.0
        # EOF

        """)
  }

  @Test("The text format 0.0.4: a counter is named with its suffix, and unit and end are comments")
  func plainText() throws {
    let text = try page().text(.text)
    #expect(text.contains("# TYPE lanyard_exchanges_total counter\nlanyard_exchanges_total{issuer="))
    #expect(text.contains("# HELP lanyard_exchanges_total Refreshes \"that\" ended.\n"))
    #expect(text.contains("# TYPE lanyard_build_info gauge\n"))
    #expect(text.contains("# UNIT lanyard_wait_seconds seconds\n") && !text.contains("_created"))
    #expect(text.hasSuffix("lanyard_wait_seconds_sum{kind=\"token\"} 61.25\n# EOF\n"))
  }

  @Test("Labels of the command line come first, and their values are escaped")
  func labels() throws {
    let label = try #require(FigurePage.Label(argument: "seat=a\\b\"c\nd=é"))
    let text = try page().labeled([label]).text(.openMetrics)
    #expect(text.contains(#"lanyard_up{seat="a\\b\"c\nd=é"} 1"#))
    #expect(text.contains(#"lanyard_exchanges_total{seat="a\\b\"c\nd=é",issuer="abc",outcome="renewed"} 7"#))
    #expect(text.utf8.count { $0 == 0x0A } == (try page().text(.openMetrics).utf8.count { $0 == 0x0A }))
  }

  @Test(
    "A name that no label may have, or that a figure has, is refused",
    arguments: ["", "=a", "1a=b", "a-b=c", "__a=b", "le=1", "issuer=x", "a", "é=1"])
  func badLabel(_ argument: String) { #expect(FigurePage.Label(argument: argument) == nil) }

  @Test("Without an agent the page says so, and tells nothing else but the time")
  func down() {
    #expect(
      FigurePage.down(nowSeconds: 12).text(.openMetrics) == """
        # HELP lanyard_up 1 if the agent told its figures, 0 if none answered.
        # TYPE lanyard_up gauge
        lanyard_up 0
        # HELP lanyard_read_time_seconds When the figures were read, in seconds since 1970.
        # TYPE lanyard_read_time_seconds gauge
        # UNIT lanyard_read_time_seconds seconds
        lanyard_read_time_seconds 12
        # EOF

        """)
  }

  @Test("A family without samples is left out")
  func emptyFamily() throws {
    let empty = sample.replacing(
      #"[{"labels":{"issuer":"abc","outcome":"renewed"},"value":7}]"#, with: "[]")
    #expect(!(try page(empty).text(.text).contains("exchanges")))
  }

  @Test(
    "What is no result of metrics.read gives no page",
    arguments: [
      ("lanyard_exchanges", "other_exchanges"), ("lanyard_exchanges", "lanyard_ex changes"),
      ("lanyard_exchanges", "lanyard_up"), (#""counts":[1,2,4]"#, #""counts":[1,2]"#),
      (#""counts":[1,2,4]"#, #""counts":[1,-2,4]"#), ("[5,1000]", "[1000,5]"), (#""value":7"#, #""value":"7""#),
      (#""unit":"seconds","boundsMs""#, #""unit":"bytes","boundsMs""#), (#""outcome":"renewed""#, #""out come":"x""#),
      (#""gauges":["#, #""gauges":[1,"#), (#""version":"1.2.3","#, ""),
    ])
  func notAResult(_ change: (String, String)) throws {
    let text = sample.replacing(change.0, with: change.1)
    #expect(text != sample)
    #expect(throws: NoPage.self) { try page(text) }
  }

  private struct NoPage: Error {}

  private func page(_ json: String? = nil) throws -> FigurePage {
    let bytes = Array((json ?? sample).utf8)
    return try bytes.withUnsafeBytes { bytes in
      var tape = JSONTape()
      try JSONScanner.scan(bytes, onto: &tape)
      return try tape.withRoot(of: bytes) { root in
        guard let page = FigurePage(result: root) else { throw NoPage() }
        return page
      }
    }
  }

  private let sample = #"""
    {"version":"1.2.3","gauges":[{"name":"lanyard_start_time_seconds","help":"Start.","unit":"seconds",\#
    "samples":[{"labels":{},"value":1893456000}]}],\#
    "counters":[{"name":"lanyard_exchanges","help":"Refreshes \"that\" ended.",\#
    "samples":[{"labels":{"issuer":"abc","outcome":"renewed"},"value":7}]}],\#
    "histograms":[{"name":"lanyard_wait_seconds","help":"Waits.","unit":"seconds","boundsMs":[5,1000],\#
    "samples":[{"labels":{"kind":"token"},"counts":[1,2,4],"count":7,"sumMs":61250}]}]}
    """#
}
