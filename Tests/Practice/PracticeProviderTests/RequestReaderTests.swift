import Testing

import LoopbackHTTP

@Suite struct RequestReaderTests {
  private func read(_ text: String, maximumBodyBytes: Int = 100, pieces: Int? = nil) -> RequestReader.Progress {
    var reader = RequestReader(maximumBodyBytes: maximumBodyBytes)
    let bytes = Array(text.utf8)
    guard let pieces else { return reader.receive(bytes) }
    var index = 0
    while index < bytes.count {
      let end = min(index + pieces, bytes.count)
      let progress = reader.receive(bytes[index..<end])
      index = end
      if case .needsMore = progress { continue }
      if case .expectsContinue = progress { continue }
      return progress
    }
    return .needsMore
  }

  private let post =
    "POST /token?x=1 HTTP/1.1\r\nHost: 127.0.0.1:80\r\nContent-Length: 5\r\nX-A:  b c \r\n\r\nhello"

  @Test(arguments: [nil, 1, 2, 3, 7, 50])
  func request_isReadInPiecesOfAnySize(pieces: Int?) throws {
    guard case .request(let request) = read(post, pieces: pieces) else { Issue.record("no request"); return }
    #expect(request.method == "POST")
    #expect(request.path == "/token")
    #expect(request.query == "x=1")
    #expect(request.header("x-a") == "b c")
    #expect(String(decoding: request.body, as: UTF8.self) == "hello")
  }

  @Test(arguments: [
    ("GET / HTTP/1.1\r\n\r\n", 400),  // no Host
    ("GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: 127.0.0.1\r\n\r\n", 400),
    ("GET / HTTP/1.1\nHost: 127.0.0.1\n\r\n\r\n", 400),  // bare LF
    ("GET  / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n folded\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost : 127.0.0.1\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nA: b\u{0}c\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nA: b\rc\r\n\r\n", 400),
    ("G@T / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", 400),
    ("GET token HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", 400),
    ("GET / HTTP/2.0\r\nHost: 127.0.0.1\r\n\r\n", 505),
    ("hello\r\n\r\n", 400),
    ("\r\n\r\n", 400),
    ("POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\nhello", 400),
    ("POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: +5\r\n\r\nhello", 400),
    ("POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
    ("POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n", 411),
    ("POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 101\r\n\r\n", 413),
    ("POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 99999999999999999999\r\n\r\n", 413),
    ("GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n", 421),
    ("GET http://evil.example/ HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", 421),
  ])
  func malformedOrForeignRequest_isRefused(text: String, status: Int) {
    guard case .refused(status) = read(text) else {
      Issue.record("\(read(text)) instead of \(status)")
      return
    }
  }

  @Test func requestHeadOverTheLimit_isRefused() {
    let long = "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nA: " + String(repeating: "a", count: 66_000)
    guard case .refused(431) = read(long) else { Issue.record("a long head passed"); return }
    guard case .refused(431) = read(long + "\r\n\r\n") else { Issue.record("a long head passed"); return }
    let many = "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n" + String(repeating: "A: b\r\n", count: 100) + "\r\n"
    guard case .refused(431) = read(many) else { Issue.record("many headers passed"); return }
  }

  @Test func absoluteTargetAndHTTP10_areRead() {
    guard case .request(let absolute) = read("GET http://localhost:9/a?b HTTP/1.1\r\nHost: localhost:9\r\n\r\n") else {
      Issue.record("no request")
      return
    }
    #expect(absolute.path == "/a")
    #expect(absolute.query == "b")
    #expect(absolute.targetAuthority == "localhost:9")
    guard case .request = read("GET / HTTP/1.0\r\n\r\n") else { Issue.record("no request"); return }
  }

  @Test func expectContinue_isAnswered() {
    var reader = RequestReader(maximumBodyBytes: 10)
    let head = "POST / HTTP/1.1\r\nHost: [::1]:1\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n"
    guard case .expectsContinue = reader.receive(Array(head.utf8)) else { Issue.record("not asked"); return }
    guard case .request(let request) = reader.receive(Array("ok".utf8)) else { Issue.record("no request"); return }
    #expect(request.body.count == 2)
  }

  @Test(arguments: [
    ("127.0.0.1", true), ("127.8.9.10:80", true), ("localhost", true), ("LocalHost:8080", true), ("[::1]:443", true),
    ("[::1]", true), ("127.1", false), ("0177.0.0.1", false), ("10.0.0.1", false), ("localhost.evil.example", false),
    ("127.0.0.1:", false), ("[::1]x", false), ("", false), ("127.0.0.1:99999", false), ("[::2]", false),
  ])
  func hostThatIsNotLoopback_isNotRecognised(authority: String, isLoopback: Bool) {
    #expect(LoopbackAddress.isLoopback(authority: authority) == isLoopback)
  }
}
