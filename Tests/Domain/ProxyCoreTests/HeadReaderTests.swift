import AgentModel
import ProxyCore
import Testing

/// Reads a head, in pieces of one size.
func head(_ text: String, pieces: Int = 1) -> HeadReader.Progress {
  var reader = HeadReader()
  var rest = Array(text.utf8)[...]
  while !rest.isEmpty {
    let piece = Array(rest.prefix(pieces))
    rest = rest.dropFirst(pieces)
    switch piece.withUnsafeBytes({ reader.receive($0) }) {
    case .needsMore: continue
    case .head(let head, let behind): return .head(head, rest: behind + rest)
    case .refused(let refusal): return .refused(refusal)
    }
  }
  return .needsMore
}

/// The head of a request that is in order.
func requestHead(_ text: String) throws -> RequestHead {
  guard case .head(let head, _) = head(text, pieces: .max) else { throw Refusal.malformed("unexpected") }
  return head
}

struct HeadReaderTests {
  private static let whole =
    "POST http://127.0.0.1:8000/a?b HTTP/1.1\r\nHost: 127.0.0.1:8000\r\nContent-Length: 5\r\n\r\nhello"

  @Test(arguments: [1, 2, 3, 7, 1000]) func headIsReadFromPiecesOfAnySize(pieces: Int) throws {
    guard case .head(let head, let rest) = head(Self.whole, pieces: pieces) else {
      Issue.record("no head")
      return
    }
    #expect(head.method == "POST")
    #expect(head.framing == .length(5))
    #expect(head.keepsAlive)
    #expect(String(decoding: rest, as: UTF8.self) == "hello")
    guard case .absolute(let url) = head.target else {
      Issue.record("no URL")
      return
    }
    #expect(url.text == "http://127.0.0.1:8000/a?b")
  }

  @Test func everyPrefixOfAHeadWantsMore() {
    let bytes = Array(Self.whole.utf8.dropLast(5))
    for count in 1..<bytes.count {
      var reader = HeadReader()
      guard case .needsMore = bytes[..<count].withUnsafeBytes({ reader.receive($0) }) else {
        Issue.record("\(count) bytes are no head")
        return
      }
    }
  }

  @Test(arguments: [
    ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
    ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\n", 400),
    ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5, 5\r\n\r\n", 400),
    ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9999999999999999999\r\n\r\n", 400),
    ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n", 501),
    ("POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: a\r\n b: c\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost : a\r\n\r\n", 400),
    ("GET / HTTP/1.1\nHost: a\n\n", 400),
    ("GET / HTTP/1.1\r\nHost: a\rb\r\n\r\n", 400),
    ("GET / HTTP/2.0\r\nHost: a\r\n\r\n", 505),
    ("GET /\r\n\r\n", 400),
    ("GET http://a@127.0.0.1/ HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    ("CONNECT a HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    ("CONNECT a:443/ HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    ("CONNECT a@b:443 HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: a\r\nExpect: more\r\n\r\n", 417),
    ("\u{16}\u{03}\u{01}", 400),
  ]) func headThatIsReadInTwoWaysIsRefused(text: String, status: Int) {
    for pieces in [1, 1000] {
      guard case .refused(let refusal) = head(text, pieces: pieces) else {
        Issue.record("\(text) was taken")
        return
      }
      #expect(refusal.status == status, "\(text)")
    }
  }

  @Test func headOverTheBoundIsRefused() {
    let text = "GET / HTTP/1.1\r\nHost: a\r\nX: " + String(repeating: "b", count: HeadReader.mostBytes) + "\r\n\r\n"
    guard case .refused(let refusal) = head(text, pieces: 1000) else {
      Issue.record("it was taken")
      return
    }
    #expect(refusal.status == 431)
  }

  @Test func connectNamesAnOrigin() throws {
    let head = try requestHead("CONNECT API.example:8443 HTTP/1.1\r\nHost: api.example:8443\r\n\r\n")
    guard case .tunnel(let origin) = head.target else {
      Issue.record("no tunnel")
      return
    }
    #expect(origin.origin == "https://api.example:8443")
  }

  @Test func continueIsOwedOnlyForABody() throws {
    #expect(
      try requestHead("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nExpect: 100-continue\r\n\r\n").expectsContinue)
    #expect(try !requestHead("GET / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n\r\n").expectsContinue)
  }
}
