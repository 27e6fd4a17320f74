import AgentCore
import AgentModel
import Testing

@Suite struct RequestFieldsTests {
  private func refusedPath(
    _ fields: [(name: String, value: String)], key: String? = nil, allowed: [String] = [], isLimited: Bool = false
  ) -> String? {
    do throws(RequestFields.Refusal) {
      let read = try RequestFields(fields, idempotencyKey: key)
      try read.check(by: RequestNames(allowed: allowed), isOfLimitedCaller: isLimited)
      return nil
    } catch {
      return error.path
    }
  }

  @Test func fields_keepTheirOrderAndSpelling() throws {
    let fields = try RequestFields([("X-Trace", "1"), ("accept", "text/plain"), ("X-Empty", "")])
    #expect(fields.all.map(\.name) == ["X-Trace", "accept", "X-Empty"])
    #expect(fields.all.map(\.value) == ["1", "text/plain", ""])
  }

  @Test(arguments: [
    "Authorization", "AUTHORIZATION", "authorization", "Cookie", "Host", "Proxy-Authorization", "Proxy-Connection",
    "proxy-anything", "Connection", "Keep-Alive", "TE", "Trailer", "Transfer-Encoding", "Upgrade", "Content-Length",
    "Expect", "DPoP", "Idempotency-Key", "X-HTTP-Method", "X-HTTP-Method-Override", "X-Method-Override",
    "X-Original-Method", "X-Original-URL", "x-original-url", "X-Rewrite-URL", "X-HTTPMethod-Override", "X-Method",
  ])
  func fieldOfTheAgentOrTheConnection_isRefused(name: String) {
    #expect(refusedPath([("Accept", "*/*"), (name, "x")]) == "/headers/" + name)
  }

  @Test(arguments: [
    "X_HTTP_Method_Override", "X-HTTP_Method-Override", "Transfer_Encoding", "content_length", "Proxy_Authorization",
    "proxy_anything", "Keep_Alive", "Idempotency_Key", "X_Original_Method", "X_Original_URL", "X.Rewrite_Url",
    "X.HTTP.Method.Override",
    "x+method|override", "content^length",
  ])
  func reservedNameWithOtherMarks_isRefused(name: String) {
    #expect(refusedPath([(name, "x")]) == "/headers/" + name)
  }

  @Test(arguments: ["X_Note", "_", "X-Original-Note", "X.Note", "X-Vendor-Thing"])
  func anyOtherNameWithMarks_isTaken(name: String) {
    #expect(refusedPath([(name, "x")]) == nil)
  }

  @Test(arguments: [
    "Private-Token", "X-Api-Key", "Impersonate-User", "Sudo", "X-Forwarded-Path", "X-Forwarded-For", "_authorization",
  ])
  func fieldThatNamesACredentialAPersonOrAPath_isRefused(name: String) {
    #expect(refusedPath([("Accept", "*/*"), (name, "x")]) == "/headers/" + name)
    #expect(refusedPath([(name, "x")], allowed: [name]) == (name == "_authorization" ? "/headers/_authorization" : nil))
  }

  @Test(arguments: ["Range", "Accept_Charset", "Request-Range", "A-IM", "accept.encoding", "Accept-Transfer-Encoding"])
  func fieldThatHidesAToken_doesNotLeaveWhereTheAnswerIsSearched(name: String) throws {
    let (fields, names) = (try RequestFields([("Accept", "*/*"), (name, "x")]), RequestNames(allowed: [name]))
    #expect(fields.outgoing(by: names, isSearched: true).map(\.name) == ["Accept"])
    #expect(fields.outgoing(by: names, isSearched: false).map(\.name) == ["Accept", name])
  }

  @Test func limitedCaller_setsPlainFieldsAlone() {
    #expect(refusedPath([("X-Note", "x"), ("Accept", "*/*")], isLimited: true) == nil)
    #expect(refusedPath([("X-Vendor-Thing", "x")], isLimited: true) == "/headers/X-Vendor-Thing")
    #expect(refusedPath([("X-Vendor-Thing", "x")], allowed: ["x-vendor-thing"], isLimited: true) == nil)
    #expect(refusedPath([("Authorization", "x")], allowed: ["Authorization"]) == "/headers/Authorization")
  }

  @Test(arguments: ["a\rb", "a\nb", "a\r\nAuthorization: Bearer x", "\u{0}", "a\u{7F}", "\u{1B}[1m", "a\r\n b"])
  func valueThatWouldEndItsLine_isRefused(value: String) {
    #expect(refusedPath([("X-Note", value)]) == "/headers/X-Note")
  }

  @Test(arguments: ["a\tb", "grüße", " padded ", "\"quoted\", list"])
  func anyOtherValue_isTaken(value: String) {
    #expect(refusedPath([("X-Note", value)]) == nil)
  }

  @Test func name_isATokenAndStandsOnce() {
    #expect(refusedPath([("X Note", "x")]) == "/headers/X Note")
    #expect(refusedPath([("X-Note:", "x")]) == "/headers/X-Note:")
    #expect(refusedPath([("", "x")]) == "/headers/")
    #expect(refusedPath([("Accept", "a"), ("accept", "b")]) == "/headers/accept")
  }

  @Test func pointer_isEscaped() {
    #expect(refusedPath([("X~Note", "\n")]) == "/headers/X~0Note")
    #expect(refusedPath([("X/Note", "x")]) == "/headers/X~1Note")
  }

  @Test(arguments: ["8e03978e-40d5-43dd-bc93-6894a57f9324", "\"8e03978e\"", "a b", "~"])
  func idempotencyKey_isSentAsItIs(key: String) throws {
    let fields = try RequestFields([("Accept", "*/*")], idempotencyKey: key)
    #expect(fields.all.last?.name == "Idempotency-Key")
    #expect(fields.all.last?.value == key)
  }

  @Test func key_takesThePlaceOfAnother() throws {
    let fields = try RequestFields([("Accept", "*/*")])
    let keyed = try fields.keyed("a").keyed("b")
    #expect(keyed.all.map(\.value) == ["*/*", "b"])
    #expect(keyed.own.map(\.name) == ["Accept"])
    #expect(fields.own.map(\.name) == ["Accept"])
    #expect(throws: RequestFields.Refusal.self) { try fields.keyed("a\nb") }
  }

  @Test(arguments: ["", " a", "a ", "a\r\nCookie: x", "ключ", "\t"])
  func idempotencyKeyThatIsNoFieldValue_isRefused(key: String) {
    #expect(refusedPath([], key: key) == "/idempotencyKey")
  }
}

@Suite struct ResponseFieldsTests {
  private func fields(_ fields: [(name: String, value: String)]) -> [String: String]? {
    ResponseFields(fields).map { read in
      Dictionary(uniqueKeysWithValues: read.all.map { ($0.name, $0.value) })
    }
  }

  @Test func names_areInLowerCaseAndJoined() {
    #expect(
      fields([("Vary", "Accept"), ("ETag", "\"1\""), ("vary", "Origin")])
        == ["vary": "Accept, Origin", "etag": "\"1\""])
  }

  @Test func cookiesAndFieldsOfTheConnection_areRemoved() {
    let read = fields([
      ("Set-Cookie", "sid=1"), ("set-cookie2", "sid=1"), ("Connection", "close, X-Hop"), ("x-hop", "1"),
      ("Transfer-Encoding", "chunked"), ("Keep-Alive", "1"), ("Proxy-Authenticate", "Basic"), ("DPoP-Nonce", "n"),
      ("Content-Type", "text/plain"), ("WWW-Authenticate", "Bearer"),
    ])
    #expect(read == ["content-type": "text/plain", "www-authenticate": "Bearer"])
  }

  @Test func moreFieldsThanAnAnswerHas_areRefused() {
    let most = (0..<ResponseFields.maximumCount).map { (name: "x-\($0)", value: "1") }
    #expect(fields(most)?.count == ResponseFields.maximumCount)
    #expect(fields(most + [("x-0", "2")])?["x-0"] == "1, 2")
    #expect(fields(most + [("one-more", "1")]) == nil)
  }

  private func pause(_ fields: [(name: String, value: String)]) throws -> Milliseconds? {
    let now = try #require(Timestamp(httpDate: "Sun, 06 Nov 1994 08:49:37 GMT", now: Timestamp(milliseconds: 0)))
    return try #require(ResponseFields(fields)).retryAfter(now: now)
  }

  @Test func retryAfterAsADate_countsFromTheAnswersOwnDate() throws {
    let until = (name: "Retry-After", value: "Mon, 07 Nov 2050 10:00:30 GMT")
    #expect(try pause([until, ("Date", "Mon, 07 Nov 2050 10:00:00 GMT")]) == .seconds(30))
    #expect(try pause([until, ("Date", "Mon, 07 Nov 2050 10:01:00 GMT")]) == .zero)
  }

  @Test(arguments: [[], [("Date", "yesterday")], [("Date", "a"), ("Date", "b")]])
  func retryAfterWithoutAReadableDate_countsFromTheProvidersTime(date: [(String, String)]) throws {
    let date = date.map { (name: $0.0, value: $0.1) }
    #expect(try pause(date + [("Retry-After", "Sun, 06 Nov 1994 08:50:37 GMT")]) == .seconds(60))
    #expect(try pause(date + [("Retry-After", "Sun, 06 Nov 1994 08:48:37 GMT")]) == .zero)
  }

  @Test func retryAfterInSeconds_needsNoClock() throws {
    #expect(try pause([("Retry-After", "7"), ("Date", "Mon, 07 Nov 2050 10:00:00 GMT")]) == .seconds(7))
    #expect(try pause([("Retry-After", "99999999999999999999")]) == .seconds(1 << 31))
    #expect(try pause([("Retry-After", "soon")]) == nil)
    #expect(try pause([("Retry-After", "")]) == nil)
    #expect(try pause([]) == nil)
  }
}
