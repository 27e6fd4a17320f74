import MetricsExposition
import Testing

/// The requests of scrapers, and which format they get.
struct ScrapeRequestTests {
  @Test(
    "The format that Accept wants most",
    arguments: [
      (nil, .text), ("*/*", .text), ("", .text), ("text/html", .text),
      ("application/openmetrics-text", .openMetrics), ("application/*", .openMetrics),
      ("text/plain", .text), ("text/plain;version=0.0.4;q=0.5,*/*;q=0.1", .text),
      // Prometheus 2.42, and an old one that knows only the draft of OpenMetrics.
      (
        "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,"
          + "text/plain;version=0.0.4;q=0.5,*/*;q=0.1", .openMetrics
      ),
      ("application/openmetrics-text; version=0.0.1,text/plain;version=0.0.4;q=0.5,*/*;q=0.1", .text),
      ("text/plain;q=0.9, application/openmetrics-text;q=0.8", .text),
      ("text/plain , application/openmetrics-text", .openMetrics),
      ("application/openmetrics-text;q=0, */*", .text), ("*/*;q=0.5, application/openmetrics-text;q=0.4", .text),
      (#"APPLICATION/OpenMetrics-Text; Version="1.0.0"; q=1.000"#, .openMetrics),
      ("text/*;q=0.2, application/*;q=0.1", .text), ("text/plain;q=2", .text), ("a;b;;,,/", .text),
    ] as [(String?, ExpositionFormat)])
  func format(_ accept: String?, _ format: ExpositionFormat) { #expect(ExpositionFormat(accept: accept) == format) }

  @Test(
    "A request, whole and byte by byte",
    arguments: [
      ("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n", .figures(.text, hasBody: true)),
      ("GET /metrics HTTP/1.0\r\n\r\n", .figures(.text, hasBody: true)),
      ("HEAD /metrics?a=b HTTP/1.1\r\nHost: x\r\n\r\n", .figures(.text, hasBody: false)),
      (
        "GET http://host/metrics HTTP/1.1\r\nACCEPT:application/openmetrics-text\r\n\r\n",
        .figures(.openMetrics, hasBody: true)
      ),
      (
        "GET /metrics HTTP/1.1\r\nAccept: text/html\r\nAccept: application/*\r\nHost: é\r\n\r\n",
        .figures(.openMetrics, hasBody: true)
      ),
      ("GET / HTTP/1.1\r\n\r\n", .refused(status: 404)), ("GET http://host HTTP/1.1\r\n\r\n", .refused(status: 404)),
      ("POST /metrics HTTP/1.1\r\n\r\n", .refused(status: 405)),
      ("GET /metrics HTTP/2.0\r\n\r\n", .refused(status: 505)), ("GET /metrics\r\n\r\n", .refused(status: 400)),
      ("GET metrics HTTP/1.1\r\n\r\n", .refused(status: 400)),
      ("GET  /metrics HTTP/1.1\r\n\r\n", .refused(status: 400)), ("\r\n\r\n", .refused(status: 400)),
      ("GET /metrics HTTP/1.1\r\nHost x\r\n\r\n", .refused(status: 400)),
      ("GET /metrics HTTP/1.1\r\nHost : x\r\n\r\n", .refused(status: 400)),
      ("GET /metrics HTTP/1.1\r\nHost: x\n\r\n\r\n", .refused(status: 400)),
      ("GET /metrics HTTP/1.1\r\nHost: \u{0}\r\n\r\n", .refused(status: 400)),
      ("GET /metrics HTTP/1.1\r\nHost: \r\r\n\r\n", .refused(status: 400)),
    ] as [(String, ScrapeRequest.Answer)])
  func request(_ text: String, _ answer: ScrapeRequest.Answer) {
    var whole = ScrapeRequest()
    #expect(whole.receive(Array(text.utf8)) == .complete(answer))
    var dripping = ScrapeRequest()
    for byte in text.utf8.dropLast() { #expect(dripping.receive([byte]) == .needsMore) }
    #expect(dripping.receive([text.utf8.last!]) == .complete(answer))
  }

  @Test("A head that is too long is refused, also without an end")
  func tooLong() {
    let long = Array("GET /metrics HTTP/1.1\r\nA: ".utf8) + Array(repeating: UInt8(ascii: "a"), count: 17 << 10)
    var endless = ScrapeRequest()
    #expect(endless.receive(long) == .complete(.refused(status: 431)))
    var ended = ScrapeRequest()
    #expect(ended.receive(long + Array("\r\n\r\n".utf8)) == .complete(.refused(status: 431)))
  }

  @Test("An answer has its type and length, closes the connection, and asks for figures only where it tells them")
  func answer() {
    let page = FigurePage.down(nowSeconds: 1)
    let whole = String(decoding: ScrapeRequest.Answer.figures(.text, hasBody: true).bytes { page }, as: UTF8.self)
    let body = page.text(.text)
    #expect(whole.hasPrefix("HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n"))
    #expect(whole.contains("\r\nContent-Length: \(body.utf8.count)\r\n") && whole.contains("\r\nConnection: close\r\n"))
    #expect(whole.hasSuffix("\r\n\r\n" + body))
    let head = String(
      decoding: ScrapeRequest.Answer.figures(.openMetrics, hasBody: false).bytes { page }, as: UTF8.self)
    #expect(head.hasSuffix("\r\n\r\n"))
    #expect(head.contains("\r\nContent-Length: \(page.text(.openMetrics).utf8.count)\r\n"))
    let refusal = ScrapeRequest.Answer.refused(status: 405).bytes {
      Issue.record("asked for figures")
      return page
    }
    #expect(String(decoding: refusal, as: UTF8.self).contains("\r\nAllow: GET, HEAD\r\n"))
  }
}
