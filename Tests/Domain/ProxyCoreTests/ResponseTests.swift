import ProxyCore
import Testing

struct ResponseTests {
  private func head(_ fields: [(String, String)], status: Int = 200) -> ResponseHead? {
    ResponseHead(status: status, fields: fields.map { (name: $0.0, value: $0.1) })
  }

  @Test func cookiesAndFieldsOfTheConnectionDoNotGoOn() throws {
    let kept = head([
      ("Set-Cookie", "a=b"), ("Connection", "close, X-Hop"), ("X-Hop", "c"), ("Transfer-Encoding", "chunked"),
      ("Alt-Svc", "h3"), ("DPoP-Nonce", "d"), ("Content-Type", "text/plain"), ("Vary", "a"), ("Vary", "b"),
    ])
    #expect(try #require(kept).fields.map(\.name) == ["Content-Type", "Vary", "Vary"])
  }

  @Test func fieldWithALineEndIsNotPassedOn() {
    #expect(head([("X", "a\r\nSet-Cookie: b")]) == nil)
    #expect(head([("X Y", "a")]) == nil)
    #expect(head([("Content-Length", "1"), ("Content-Length", "2")]) == nil)
  }

  @Test func transferCodingInWhichNoTokenIsFoundIsNotPassedOn() {
    for coding in ["gzip, chunked", "gzip", "identity, deflate"] {
      #expect(head([("Transfer-Encoding", coding)]) == nil, "\(coding)")
    }
    #expect(head([("Transfer-Encoding", "Chunked")]) != nil)
  }

  @Test func endOfTheBodyIsTold() throws {
    let get = try requestHead("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
    let old = try requestHead("GET / HTTP/1.0\r\n\r\n")
    let check = try requestHead("HEAD / HTTP/1.1\r\nHost: a\r\n\r\n")
    let known = try #require(head([("Content-Length", "5")])), unknown = try #require(head([]))
    #expect(known.framing(to: get) == .length(5))
    #expect(unknown.framing(to: get) == .chunked)
    #expect(unknown.framing(to: old) == .untilClose)
    #expect(known.framing(to: check) == .none)
    #expect(try #require(head([], status: 204)).framing(to: get) == .none)
    #expect(String(decoding: known.bytes(to: check, closes: false), as: UTF8.self).contains("Content-Length: 5\r\n"))
  }

  @Test func refusalIsJSONForAClientOfJSON() throws {
    let refusal = Refusal(403, "originNotAllowed", "A \"quoted\" \u{1B} sentence.")
    let text = String(decoding: refusal.response(asJSON: true, closes: true), as: UTF8.self)
    #expect(text.hasSuffix(#"{"error":{"name":"originNotAllowed","message":"A \"quoted\"   sentence."}}"# + "\n"))
    let wants = try requestHead("GET / HTTP/1.1\r\nHost: a\r\nAccept: text/html, application/json;q=0.9\r\n\r\n")
    #expect(wants.acceptsJSON)
    let missing = Refusal(407, "proxySecretMissing", "no").response(asJSON: false, closes: false)
    #expect(String(decoding: missing, as: UTF8.self).contains("Proxy-Authenticate: Basic realm=\"lanyard\"\r\n"))
    #expect(
      String(decoding: refusal.response(asJSON: false, isHead: true, closes: true), as: UTF8.self).hasSuffix("\r\n\r\n")
    )
  }

  @Test func secretIsProvedByItsOwnFieldAlone() {
    let secret = ProxySecret(random: Array(0..<32))
    #expect(secret.text == "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8")
    let right = "Basic bGFueWFyZDpBQUVDQXdRRkJnY0lDUW9MREEwT0R4QVJFaE1VRlJZWEdCa2FHeHdkSGg4"
    #expect(secret.isProved(by: right))
    #expect(secret.isProved(by: "basic " + right.dropFirst(6)))
    // RFC 9110 section 11.4: any number of spaces.
    #expect(secret.isProved(by: "Basic   " + right.dropFirst(6)))
    for wrong in [
      nil, "", "Basic", "Basic ", "Bearer " + secret.text, String(right.dropLast()), right + "=", "Basic " + right,
    ] {
      #expect(!secret.isProved(by: wrong), "\(wrong ?? "nil")")
    }
  }
}
