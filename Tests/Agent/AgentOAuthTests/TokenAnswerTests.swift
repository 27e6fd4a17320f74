import AgentCore
import AgentModel
import AgentPorts
import Secrets
import Testing

import AgentOAuth

/// The origin of a token endpoint's response, and the members read from a refusal.
@Suite struct TokenAnswerTests {
  private func response(_ status: Int, _ body: [UInt8], fields: [(name: String, value: String)] = []) -> HTTPResponse {
    let sent = BootInstant(milliseconds: 0)
    return HTTPResponse(status: status, fields: fields, body: .of(body), sentAt: sent, receivedAt: sent)
  }

  static let deep = String(repeating: #"{"a":"#, count: 10_000)

  @Test(
    arguments: [
      (200, #"{"access_token":"at","token_type":"Bearer"}"#, .tokens), (201, #"{"refresh_token":"rt"}"#, .tokens),
      (200, #"{"access_token":"at","token_type":"mac"}"#, .tokens),
      // A token beside an error: the token must not be lost.
      (200, #"{"error":"odd","refresh_token":"rt"}"#, .tokens),
      (200, #"{"error":"odd","error":"odd","refresh_token":"rt""#, .tokens),
      // The provider refuses.
      (200, #"{"error":"bad_refresh_token"}"#, .refusal), (200, #"{"error":"x","access_token":""}"#, .refusal),
      (400, #"{"error":"invalid_grant"}"#, .refusal), (400, "", .refusal), (500, "<html>", .refusal),
      (302, "", .refusal), (511, "<html>", .refusal), (400, #"{"access_token":"at"}"#, .refusal), (100, "", .refusal),
      // A form, an array, a preface: read all the same.
      (200, "access_token=at&token_type=bearer", .tokens), (200, "scope=a+b&refresh_token=r%20t\n", .tokens),
      (200, #"[{"access_token":"at","refresh_token":"rt"}]"#, .tokens),
      (200, ")]}'\n" + #"{"access_token":"at","refresh_token":"rt"}"#, .tokens),
      (200, "\u{FEFF})]}'," + #"{"refresh_token":"rt""#, .tokens), (200, #"[{"refresh_token":"rt","#, .tokens),
      (200, ")]}'" + #"{"error":"bad_refresh_token"}"#, .refusal),
      // A page for people: another server answers.
      (200, "<!doctype html>", .foreign), (200, "\u{FEFF}\n <HTML>", .foreign),
      (203, "<?xml version='1.0'?>", .foreign),
      (200, #"<pre>{"refresh_token":"rt"}</pre>"#, .damaged),
      // No tokens that can be read: the provider may have issued some.
      (200, "", .withoutTokens), (204, "", .withoutTokens), (200, " \n", .withoutTokens),
      (200, "OK", .withoutTokens), (200, "{}", .withoutTokens), (200, "[]", .withoutTokens),
      (200, "null", .withoutTokens), (200, ")]}'", .withoutTokens), (200, "a=b&c=d", .withoutTokens),
      (200, "access_token=&refresh_token=", .withoutTokens), (200, "refresh_token=%4", .withoutTokens),
      (200, "refresh_token=a&refresh_token=b", .withoutTokens), (200, "\u{1F}\u{8B}", .withoutTokens),
      (200, #"[{"access_token":"a"},{"access_token":"b"}]"#, .withoutTokens),
      (200, #"{"terms":"please accept"}"#, .withoutTokens), (200, #"{"error":{"code":503}}"#, .withoutTokens),
      (200, #"{"access_token":null,"refresh_token":""}"#, .withoutTokens),
      (200, "{\"x\":\"\u{0}\"}", .withoutTokens), (200, #"{"x":"\ud83d"}"#, .withoutTokens),
      (200, String(repeating: "[", count: 10_000), .withoutTokens),
      // Possible remains of tokens.
      (200, "{", .damaged), (200, " {\"access_to", .damaged),
      (200, #"{"access_token":"at","refresh_token":"r"#, .damaged),
      (200, #"{"access_token":"at","token_type":"Bearer",}"#, .damaged), (200, deep, .damaged),
      (200, #"{"access_token":"a","access_token":"b"}"#, .damaged),
      (200, "\u{FEFF}{", .damaged), (200, "\u{0}{", .damaged),
    ] as [(Int, String, TokenResponseClassifier.Kind)])
  func tokenEndpointResponse_isClassified(status: Int, body: String, kind: TokenResponseClassifier.Kind) {
    #expect(TokenResponseClassifier.sort(response(status, Array(body.utf8))) == kind)
  }

  /// To a request without a token, by which the agent finds out whether the provider answers.
  @Test(
    arguments: [
      (400, #"{"error":"invalid_request"}"#, "application/json", true), (401, #"{"message":"no"}"#, "text/html", true),
      (200, #"{"ok":false,"error":"invalid_client_id"}"#, "application/json", true), (429, "{}", "", true),
      (200, "error=bad_verification_code&error_description=x", "application/x-www-form-urlencoded", true),
      // Some servers refuse with a status alone.
      (400, "", "", true), (401, "Unauthorized", "text/plain", true), (405, "", "", true),
      // A portal, a proxy or a gateway.
      (200, "<html>", "text/html", false), (200, "<html>", "", false), (200, "", "", false), (200, "OK", "", false),
      (200, "a=b", "", false), (204, "", "", false), (400, "<html>", "text/html", false),
      (403, "blocked", "text/html", false),
      (302, "", "", false), (307, #"{"error":"x"}"#, "application/json", false), (511, "<html>", "text/html", false),
      (500, #"{"error":"server_error"}"#, "application/json", false), (503, "", "", false), (100, "{}", "", false),
    ] as [(Int, String, String, Bool)])
  func tokenEndpointAnswer_isToldFromAPortals(status: Int, body: String, type: String, isAnswer: Bool) {
    let answer = response(status, Array(body.utf8), fields: type.isEmpty ? [] : [("Content-Type", type)])
    #expect(TokenResponseClassifier.isAnswer(answer) == isAnswer)
  }

  @Test(arguments: [true, false]) func utf16Response_isRead(hasMark: Bool) {
    let text = #"{"access_token":"at"}"#.utf16
    let little = text.flatMap { [UInt8($0 & 0xFF), UInt8($0 >> 8)] }
    let big = text.flatMap { [UInt8($0 >> 8), UInt8($0 & 0xFF)] }
    #expect(TokenResponseClassifier.sort(response(200, (hasMark ? [0xFF, 0xFE] : []) + little)) == .tokens)
    #expect(TokenResponseClassifier.sort(response(200, (hasMark ? [0xFE, 0xFF] : []) + big)) == .tokens)
  }

  @Test(arguments: [("text/html; charset=utf-8", true), ("Text/HTML", true), ("application/json", false), ("", false)])
  func textThatSaysItIsAPage_isForeign(type: String, isForeign: Bool) {
    let page = response(200, Array("Please log in".utf8), fields: [("Content-Type", type)])
    #expect(TokenResponseClassifier.sort(page) == (isForeign ? .foreign : .withoutTokens))
    #expect(TokenResponseClassifier.sort(response(200, [], fields: [("Content-Type", type)])) == .withoutTokens)
    let tokens = response(200, Array(#"{"refresh_token":"rt"}"#.utf8), fields: [("Content-Type", type)])
    #expect(TokenResponseClassifier.sort(tokens) == .tokens)
  }

  /// A response that was cut: its whole JSON text or its whole refresh token arrived, or it is as lost as before.
  @Test(
    arguments: [
      (200, #"{"access_token":"at","token_type":"Bearer","refresh_token":"rt"}"#, true),
      (200, #"{"access_token":"at"}"# + "\r\n", true), (201, #"[{"refresh_token":"rt"}]"#, true),
      (200, ")]}'\n" + #"{"access_token":"at"}"#, true), (200, #"{"error":"bad_refresh_token"}"#, true),
      (200, #"{"access_token":"at","refresh_token":"rt""#, true), (200, #"{"refresh_token":"rt","expires_"#, true),
      (200, #"[{"refresh_token":"rt","access_token":"a"#, true),
      // Inside a token, before the refresh token, a form.
      (200, #"{"access_token":"at","refresh_token":"r"#, false),
      (200, #"{"access_token":"at","refresh_token":""#, false),
      (200, #"{"refresh_token":"rt\"#, false), (200, #"{"access_token":"at","expires_in":36"#, false),
      (200, #"{"access_token":"at""#, false), (200, "{", false), (200, "", false), (200, "12", false),
      (200, "access_token=at&refresh_token=r", false), (200, #""rt""#, false),
      // No success.
      (400, #"{"error":"invalid_grant"}"#, false), (302, #"{"refresh_token":"rt"}"#, false),
    ] as [(Int, String, Bool)])
  func cutTokenEndpointResponse_isReadableIfItsRefreshTokenOrAllOfItArrived(status: Int, body: String, isRead: Bool) {
    #expect(TokenResponseClassifier.isReadable(partial: response(status, Array(body.utf8))) == isRead)
  }

  // MARK: refusals

  static let now = Timestamp(httpDate: "Tue, 01 Jan 2030 00:00:00 GMT", now: Timestamp(milliseconds: 0))!

  private func refusal(_ body: String, retryAfter: String? = nil, date: String? = nil) -> TokenEndpointRefusal {
    let fields = (retryAfter.map { [("Retry-After", $0)] } ?? []) + (date.map { [("Date", $0)] } ?? [])
    return TokenEndpointRefusal(response(400, Array(body.utf8), fields: fields), now: Self.now)
  }

  @Test func refusalMembersOfEveryProvider_areRead() {
    // Microsoft's.
    #expect(
      refusal(
        #"{"error":"invalid_grant","error_description":"d","error_codes":[50076,"50079"],"suberror":"basic_action","#
          + #""claims":"{}"}"#)
        == TokenEndpointRefusal(
          status: 400, error: "invalid_grant", suberror: "basic_action", codes: ["50076", "50079"], description: "d",
          claims: "{}"))
    // Google's.
    #expect(refusal(#"{"error":"invalid_grant","error_subtype":"invalid_rapt"}"#).suberror == "invalid_rapt")
    #expect(refusal(#"{"error_code":"rate_limit_exceeded"}"#).codes == ["rate_limit_exceeded"])
    // Okta's.
    #expect(refusal(#"{"errorCode":"E0000047","errorSummary":"s"}"#).codes == ["E0000047"])
    // RFC 9457.
    #expect(
      refusal(#"{"type":"https://idp.example/disabled","title":"t","status":400,"code":"user-disabled"}"#).codes
        == ["user-disabled", "https://idp.example/disabled"])
    #expect(refusal(#"{"code":50057}"#).codes == ["50057"])
  }

  /// Each place in which API contracts put a stable code, with any status.
  @Test(arguments: [
    #"{"code":"AUTH_SESSION_REVOKED"}"#, #"{"error":"AUTH_SESSION_REVOKED"}"#, #"{"errorCode":"AUTH_SESSION_REVOKED"}"#,
    #"{"type":"https://api.acme.example/problems/auth-session-revoked","title":"t","status":401}"#,
    #"{"type":"urn:acme:AUTH_SESSION_REVOKED"}"#, #"{"error":{"code":"AUTH_SESSION_REVOKED","message":"Signed out."}}"#,
    #"{"error":{"code":400,"message":"AUTH_SESSION_REVOKED","status":"INVALID_ARGUMENT"}}"#,
    #"{"error":{"errorCode":"AUTH_SESSION_REVOKED"}}"#, #"{"error":{"error":"AUTH_SESSION_REVOKED"}}"#,
    #"{"error":{"type":"https://api.acme.example/problems/auth-session-revoked","status":401}}"#,
    #"{"errors":[{"status":"401","code":"AUTH_SESSION_REVOKED"}]}"#,
    #"{"error":"Unauthorized","code":"AUTH_SESSION_REVOKED","statusCode":401}"#,
    #"{"success":false,"code":"AUTH_SESSION_REVOKED","data":null}"#,
  ])
  func stableCodeOfAnAPIContract_isReadInEachPlace(body: String) {
    for status in [200, 400, 401, 403, 409, 410] {
      let answer = response(status, Array(body.utf8))
      #expect(TokenResponseClassifier.sort(answer) == .refusal, "\(status)")
      #expect(
        FailureClassifier.classify(TokenEndpointRefusal(answer, now: Self.now)) == .reauthenticate(reason: "revoked"))
    }
  }

  /// Servers without a preset that have words of their own for a dead refresh token, as they send them.
  @Test(arguments: [
    (400, #"{"error":"Bad Request","status":400,"message":"Invalid refresh token"}"#),
    (400, #"{"status":"BAD_REFRESH_TOKEN","message":"missing or invalid refresh token"}"#),
    (200, #"{"error":"invalid_code"}"#),
    (400, #"{"error":"invalid_request","error_description":"Refresh token expired."}"#),
  ])
  func deadRefreshTokenInAServersOwnWords_endsTheSession(status: Int, body: String) {
    let answer = response(status, Array(body.utf8))
    #expect(TokenResponseClassifier.sort(answer) == .refusal)
    #expect(
      FailureClassifier.classify(TokenEndpointRefusal(answer, now: Self.now)) == .reauthenticate(reason: "refused"))
  }

  /// Words about an error that are no codes decide nothing.
  @Test(arguments: [
    #"{"error":{"message":"The session was revoked."}}"#, #"{"message":"AUTH_SESSION_REVOKED"}"#, #"{"errors":["x"]}"#,
    #"{"type":"about:blank"}"#, #"{"error":"Unauthorized request"}"#, #"{"code":"AUTH_SESSION_REVOKED because"}"#,
  ])
  func wordsThatAreNoStableCode_decideNothing(body: String) {
    let answer = response(401, Array(body.utf8))
    #expect(FailureClassifier.classify(TokenEndpointRefusal(answer, now: Self.now)) == .unexplained(status: 401))
  }

  /// Members of an unexpected type are ignored and spoil no other member.
  @Test(arguments: [
    #""suberror":7"#, #""error_codes":7"#, #""error_codes":[null,{},[]]"#, #""claims":{"a":1}"#, #""code":{}"#,
    #""error_description":["x"]"#, #""x":1,"x":2"#, #""type":null"#,
  ])
  func malformedRefusalMember_isIgnored(member: String) {
    #expect(
      refusal(#"{"error":"invalid_grant",\#(member)}"#) == TokenEndpointRefusal(status: 400, error: "invalid_grant"))
  }

  @Test(arguments: [
    "", "<html>", "{", "[]", "null", #"{"error":7}"#, #"{"error":{"code":1}}"#, #"["error"]"#, deep, "\u{0}",
    #"{"error":"\#(String(repeating: "x", count: 257))"}"#,
  ])
  func responseThatIsNoOAuthError_hasOnlyItsStatusAndWhetherItIsAPage(body: String) {
    #expect(refusal(body) == TokenEndpointRefusal(status: 400, isPage: body.hasPrefix("<")))
  }

  /// The stored refusal is bounded, and its deciding members stay.
  @Test func longRefusalMembers_areDropped() {
    let long = String(repeating: "x", count: 20_000)
    let codes = (0..<100).map(String.init).joined(separator: ",")
    let read = refusal(
      #"{"error":"invalid_grant","suberror":"\#(long)","claims":"\#(long)","error_description":"\#(long)","#
        + #""error_codes":[\#(codes)],"code":"\#(long)"}"#)
    #expect(
      read == TokenEndpointRefusal(status: 400, error: "invalid_grant", codes: (0..<16).map(String.init)))
  }

  @Test("a description of more than 256 bytes is kept, and told cut")
  func longDescription_isToldCut() {
    let words = String(repeating: "AADSTS700082: The refresh token has expired due to inactivity. ", count: 6)
    let read = refusal(#"{"error":"invalid_grant","error_description":"\#(words)"}"#)
    #expect(read.description == words)
    let refusals = ProviderRefusals(log: SilentLog())
    refusals.record(read, from: ProviderName("idp")!)
    let told = refusals.all.first?.description ?? ""
    #expect(told.hasPrefix("AADSTS700082: The refresh token has expired") && told.hasSuffix("…"))
    #expect(told.count == 200)
  }

  @Test("a description that repeats what was just sent is told without it, and judged as it is")
  func sentValues() {
    func told(_ description: String, form: String) -> TokenEndpointRefusal {
      var response = response(400, Array(#"{"error":"invalid_grant","error_description":"\#(description)"}"#.utf8))
      response.form = Secret(text: form)
      return TokenEndpointRefusal(response, now: Self.now)
    }
    let form = "grant_type=authorization_code&code=X4%2F9&client_secret=1234&pin=123"
    #expect(told("the code X4/9 of 1234 is spent", form: form).hidden == "the code ... of ... is spent")
    #expect(told("the code X4/9 is spent", form: form).description == "the code X4/9 is spent")
    #expect(told("grant_type authorization_code, pin 123", form: form).hidden == nil)
    #expect(told("X4/9", form: "code=%").hidden == nil)
    let refusals = ProviderRefusals(log: SilentLog())
    refusals.record(told("code X4/9", form: form), from: ProviderName("idp")!)
    #expect(refusals.all.map(\.description) == ["code ..."])
    refusals.forgetAll()
    #expect(refusals.all.isEmpty)
  }

  @Test("a Retry-After date is compared with the answer's own Date, and else with the provider's time")
  func retryAfterDate() {
    let inAMinute = "Tue, 01 Jan 2030 00:01:00 GMT"
    #expect(refusal("{}", retryAfter: inAMinute).retryAfter == .seconds(60))
    #expect(
      refusal("{}", retryAfter: inAMinute, date: "Tue, 01 Jan 2030 00:00:50 GMT").retryAfter == .seconds(10))
    #expect(
      refusal("{}", retryAfter: "Mon, 01 Jan 2029 00:00:30 GMT", date: "Mon, 01 Jan 2029 00:00:00 GMT").retryAfter
        == .seconds(30))
    #expect(refusal("{}", retryAfter: inAMinute, date: "yesterday").retryAfter == .seconds(60))
    #expect(refusal("{}", retryAfter: "5", date: "Tue, 01 Jan 2030 00:00:50 GMT").retryAfter == .seconds(5))
  }

  @Test(
    arguments: [
      ("120", 120), ("0", 0), ("5400", 5400), ("99999999999999999999999", 1 << 31),
      ("Tue, 01 Jan 2030 00:01:30 GMT", 90), ("Mon, 31 Dec 2029 23:00:00 GMT", 0),
      ("-5", nil), ("1.5", nil), ("soon", nil), ("", nil), ("+5", nil), ("0x10", nil), ("Tue, 32 Foo 2030", nil),
    ] as [(String, Int64?)])
  func retryAfterHeader_isReadAndBounded(text: String, seconds: Int64?) {
    let refusal = refusal("{}", retryAfter: text)
    #expect(refusal.retryAfter == seconds.map { .seconds($0) })
    let failure = FailureClassifier.classify(
      TokenEndpointRefusal(status: 503, retryAfter: refusal.retryAfter))
    #expect(
      failure == .transient("status503", retryAfter: seconds.map { .seconds(min($0, 3600)) }))
  }
}
