import AgentCore
import AgentModel
import Foundation
import Secrets
import Testing
import TokenSignatures

import AgentOAuth

/// Token responses as servers write them: a malformed member spoils no other.
@Suite struct TokenResponseTests {
  /// `members` beside the two tokens and the type.
  private func answer(_ members: String) throws -> TokenResponse {
    try #require(TokenResponse(#"{"access_token":"at","refresh_token":"rt","token_type":"Bearer"\#(members)}"#))
  }

  @Test(
    arguments: [
      ("300", 300), (#""300""#, 300), ("299.9", 299), (#""299.9""#, 299), ("3e2", 300), ("0", 0), (#""0""#, 0),
      ("1e308", 315_360_000), ("9007199254740993", 315_360_000), (#""99999999999999999999999""#, 315_360_000),
      // A value that is no lifetime is ignored.
      ("null", nil), (#""soon""#, nil), (#""""#, nil), ("true", nil), ("[300]", nil),
      (#"{"s":300}"#, nil), (#""nan""#, nil),
    ] as [(String, Int64?)])
  func tokenResponseLifetimes_areRead(text: String, seconds: Int64?) throws {
    for name in ["expires_in", "refresh_in", "refresh_token_expires_in", "refresh_expires_in"] {
      let answer = try answer(#","\#(name)":\#(text)"#)
      let read =
        switch name {
        case "expires_in": answer.expiresIn
        case "refresh_in": answer.refreshIn
        default: answer.refreshTokenLifetime.map { $0.end ?? .zero }
        }
      #expect(read == seconds.map { .seconds($0) }, "\(name)")
      #expect(answer.accessToken?.text == "at")
      #expect(answer.refreshToken?.text == "rt")
    }
  }

  @Test(
    arguments: [
      (#"[{"type":"a", "n":1}]"#, #"[{"type":"a","n":1}]"#), ("[]", "[]"),
      // What can't be read is as if it was not there.
      ("null", nil), (#"{"type":"a"}"#, nil), (#""[]""#, nil), (#"[{"n":1}]"#, nil), (#"[{"type":"a"},1]"#, nil),
      (#"[{"type":"a","n":1,"n":2}]"#, nil),
    ] as [(String, String?)])
  func authorizationDetails_areRead(text: String, expected: String?) throws {
    let answer = try answer(#","authorization_details":\#(text)"#)
    #expect(answer.authorizationDetails?.text == expected)
    #expect(answer.accessToken?.text == "at")
    #expect(answer.refreshToken?.text == "rt")
  }

  /// RFC 6749 §3.3 has no scope without a name: nothing is said, and nothing is lost.
  @Test func emptyScope_isAsAbsent() throws {
    #expect(try answer(#","scope":"""#).scope == nil)
    #expect(try answer(#","scope":" ""#).scope == nil)
    let body = Secret(text: #"{"access_token":"at","scope":"","token_type":"bearer"}"#)
    #expect(TokenResponse(body: body, .spacesAndCommas)?.scope == ScopeSet([]), "GitHub says so of none")
  }

  @Test(arguments: ["7", #"["a",7]"#, #"{"a":true}"#, "true"])
  func tokenResponseScopeThatIsUnreadable_isWithinNoLimit(text: String) throws {
    let answer = try answer(#","scope":\#(text)"#)
    #expect(answer.scope == ScopeSet([], lacksSome: true))
    #expect(answer.refreshToken?.text == "rt")
  }

  @Test func authorizationDetailsOverTheBound_areNotRead() throws {
    let details = { (count: Int) in #"[{"type":"a","n":"\#(String(repeating: "x", count: count))"}]"# }
    let frame = details(0).utf8.count
    let bound = AuthorizationDetails.mostGrantedBytes - frame
    #expect(try answer(#","authorization_details":\#(details(bound))"#).authorizationDetails?.types == ["a"])
    #expect(try answer(#","authorization_details":\#(details(bound + 1))"#).authorizationDetails == nil)
  }

  /// Keycloak tells 0 of an offline token (docs of Keycloak, "Offline access").
  @Test(
    arguments: [
      (#""refresh_expires_in":0"#, nil), (#""refresh_token_expires_in":0"#, nil), (#""refresh_expires_in":"0""#, nil),
      (#""refresh_expires_in":0,"refresh_token_expires_in":0"#, nil),
      (#""refresh_token_expires_in":0,"refresh_expires_in":1800"#, 1800),
      (#""refresh_token_expires_in":1800,"refresh_expires_in":0"#, 1800),
    ] as [(String, Int64?)])
  func refreshTokenLifetimeOfZero_hasNoEnd(members: String, seconds: Int64?) throws {
    let answer = try answer(",\(members)")
    #expect(answer.refreshTokenLifetime == seconds.map { .ends(after: .seconds($0)) } ?? .endless)
    let form = members.filter { $0 != "\"" }.map { $0 == ":" ? "=" : $0 == "," ? "&" : $0 }
    let read = TokenResponse("access_token=at&refresh_token=rt&" + String(form))
    #expect(read?.refreshTokenLifetime == answer.refreshTokenLifetime)
  }

  /// A negative `expires_in` is that of a token which has expired, like 0; other negative members say nothing.
  @Test(arguments: ["-1", #""-1""#, "-0.5", "-9007199254740993"])
  func negativeExpiresIn_isZero(text: String) throws {
    #expect(try answer(#","expires_in":\#(text)"#).expiresIn == .zero)
    let form = "access_token=at&refresh_token=rt&expires_in=\(text.filter { $0 != "\"" })"
    #expect(TokenResponse(form)?.expiresIn == .zero)
    for name in ["refresh_in", "refresh_token_expires_in", "refresh_expires_in"] {
      let answer = try answer(#","\#(name)":\#(text)"#)
      #expect(answer.refreshIn == nil && answer.refreshTokenLifetime == nil, "\(name)")
    }
  }

  @Test(
    arguments: [
      (#""a b""#, "a b"), (#"["a","b"]"#, "a b"), (#""""#, nil), ("[]", ""), ("null", nil),
    ] as [(String, String?)])
  func tokenResponseScope_isRead(text: String, expected: String?) throws {
    let answer = try answer(#","scope":\#(text)"#)
    #expect(answer.scope == expected.map(ScopeSet.init(spaceDelimited:)))
    #expect(answer.refreshToken?.text == "rt")
  }

  /// A server that ignores `resource` (RFC 8707) answers with a token for itself.
  @Test(
    arguments: [
      // Opaque, and nothing beside it.
      ("opaque", "", false),
      // A JWT with another audience, with none, and with one that only begins like the resource.
      (Self.jwt(#"{"aud":"https://idp.example"}"#), "", false), (Self.jwt(#"{"sub":"u"}"#), "", false),
      (Self.jwt(#"{"aud":["https://api.example/mailbox","https://api.example"]}"#), "", false),
      (Self.jwt(#"{"resource":"https://api.example/mail"}"#), "", false),
      ("opaque", #","resource":"https://api.example/files""#, false),
      // Only the resource that was asked for counts, from the answer or from the token.
      ("opaque", #","resource":"https://api.example/mail""#, true),
      ("opaque", #","resource":["https://api.example/files","https://api.example/mail"]"#, true),
      (Self.jwt(#"{"aud":"https://api.example/mail"}"#), "", true),
      (Self.jwt(#"{"aud":["https://idp.example","https://api.example/mail/"]}"#), "", true),
    ])
  func tokenIsForAResource_onlyIfTheAnswerOrTheTokenNamesIt(token: String, members: String, isFor: Bool) throws {
    let answer = try #require(TokenResponse(#"{"access_token":"\#(token)","token_type":"Bearer"\#(members)}"#))
    #expect(answer.isFor("https://api.example/mail") == isFor)
  }

  private static func jwt(_ claims: String) -> String {
    func encoded(_ text: String) -> String {
      Data(text.utf8).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }
    return encoded(#"{"alg":"RS256","typ":"at+jwt"}"#) + "." + encoded(claims) + ".c2ln"
  }

  /// RFC 6749 §7.1: an unknown token type must not be used; the refresh token beside it is kept.
  @Test(
    arguments: [
      (#","token_type":"Bearer""#, true), (#","token_type":"bearer""#, true), (#","token_type":"BEARER""#, true),
      ("", true), (#","token_type":null"#, true),
      (#","token_type":"""#, false), (#","token_type":"mac""#, false),
      (#","token_type":"N_A""#, false), (#","token_type":"bearer ""#, false), (#","token_type":7"#, false),
      (#","token_type":["Bearer"]"#, false),
    ])
  func accessTokenOfAnUnknownType_isNotUsedAndTheRefreshTokenKept(member: String, isUsable: Bool) throws {
    let answer = try #require(TokenResponse(#"{"access_token":"at","refresh_token":"rt"\#(member)}"#))
    #expect(answer.accessToken?.text == (isUsable ? "at" : nil))
    #expect(answer.tokenType == (isUsable ? "Bearer" : ""))
    #expect(answer.issuedAccessToken)
    #expect(answer.refreshToken?.text == "rt")
  }

  /// The access token goes into a header.
  @Test(arguments: [#"a\r\nX-Evil: 1"#, #"a\u0000"#, "é", #""#, #"a\u007f"#])
  func accessTokenUnfitForAHeader_isNotUsed(
    text: String
  )
    throws
  {
    let answer = try #require(TokenResponse(#"{"access_token":"\#(text)","refresh_token":"rt","token_type":"Bearer"}"#))
    #expect(answer.accessToken == nil)
    #expect(answer.refreshToken?.text == "rt")
  }

  @Test(arguments: ["", #","refresh_token":null"#, #","refresh_token":"""#, #","refresh_token":7"#])
  func missingRefreshToken_isNil(member: String) throws {
    let answer = try #require(TokenResponse(#"{"access_token":"at","token_type":"Bearer"\#(member)}"#))
    #expect(answer.refreshToken == nil)
    #expect(answer.accessToken?.text == "at")
  }

  @Test(arguments: ["DPoP", "dpop"])
  func boundAccessToken_isUsableWithItsKeyAlone(type: String) throws {
    let answer = try #require(TokenResponse(#"{"access_token":"at","refresh_token":"rt","token_type":"\#(type)"}"#))
    #expect(answer.isBound && answer.tokenType == "DPoP")
    let key = try #require(DeviceKey(by: OpenSSLClientKeySigner()))
    #expect(answer.usable(with: key).accessToken?.text == "at")
    #expect(answer.usable(with: nil).accessToken == nil)
    #expect(answer.usable(with: nil).refreshToken?.text == "rt")
    let bearer = try #require(TokenResponse(#"{"access_token":"at","token_type":"Bearer"}"#))
    #expect(!bearer.isBound && bearer.usable(with: nil).accessToken?.text == "at")
  }

  /// A byte order mark, white space, and duplicate members outside those that are read.
  @Test(arguments: [
    "\u{FEFF}" + #"{"access_token":"at","refresh_token":"rt","token_type":"Bearer"}"#,
    "\r\n\t " + #"{ "access_token" : "at", "refresh_token" : "rt", "token_type" : "Bearer" } "# + "\n",
    #"{"access_token":"at","refresh_token":"rt","token_type":"Bearer","x":1,"x":2,"y":{"z":1,"z":2}}"#,
    #"{"\u0061ccess_token":"a\u0074","refresh_token":"\u0072t","token_type":"Bearer"}"#,
  ])
  func tokenResponseWithHarmlessOddities_isReadWhole(body: String) throws {
    let answer = try #require(TokenResponse(body))
    #expect(answer.accessToken?.text == "at")
    #expect(answer.refreshToken?.text == "rt")
  }

  /// From an unreadable response only the successor token is taken, if it occurs exactly once and whole.
  @Test(
    arguments: [
      (#"{"access_token":"at","refresh_token":"rt","token_type":"Bea"#, "rt"),
      (#"{"access_token":"at","refresh_token":"rt""#, "rt"),
      (#"{"access_token":"at","refresh_token":"rt","#, "rt"),
      (#"{"access_token":"at","refresh_token":"rt",}"#, "rt"),
      (#"{"refresh_token":"rt","x":\#(String(repeating: "[", count: 10_000))"#, "rt"),
      (
        #"{"x":\#(String(repeating: #"{"a":"#, count: 10_000))1\#(String(repeating: "}", count: 10_000)),"refresh_token":"rt"}"#,
        "rt"
      ),
      (#"{"name":"\ud800","refresh_token":"rt"}"#, "rt"), ("{\"name\":\"a\u{0}b\",\"refresh_token\":\"rt\"}", "rt"),
      (#"{"access_token":"a","access_token":"b","refresh_token":"rt"}"#, "rt"),
      (#"{"refresh_token":"rt","refresh_token":"rt"}"#, "rt"),
      (#"{"a":"}]\",\"refresh_token\":\"no\"","b":[{"refresh_token":"no"}],"refresh_token":"rt","#, "rt"),
      // Cut off inside the token, two different tokens, a token inside another member, a token with an escape.
      (#"{"access_token":"at","refresh_token":"r"#, nil), (#"{"access_token":"at","refresh_tok"#, nil),
      (#"{"refresh_token":"a","refresh_token":"b"}"#, nil), (#"{"x":{"refresh_token":"rt"},"#, nil),
      (#"{"refresh_token":"r\u0074","#, nil), (#"{"refresh_token":"","#, nil), (#"{"refresh_token":7,"#, nil),
      (#"["refresh_token":"rt"]"#, nil), ("", nil), ("<html>", nil), ("{", nil), (#"{"refresh_token""#, nil),
      (#"{"refresh_token":"rt\"#, nil), ("null", nil), ("[]", nil), (#""refresh_token""#, nil),
    ] as [(String, String?)])
  func unreadableTokenResponse_yieldsOnlyItsRefreshToken(body: String, refreshToken: String?) {
    let answer = TokenResponse(body)
    #expect(answer?.refreshToken?.text == refreshToken)
    #expect((answer == nil) == (refreshToken == nil))
    #expect(answer?.accessToken == nil)
    #expect(answer?.idToken == nil)
  }

  @Test func tokenResponseAsAForm_isReadWhole() throws {
    let answer = try #require(
      TokenResponse(
        "access_token=a%2Bt&refresh_token=r+t&token_type=bearer&expires_in=300&scope=a+b&id_token=x.y.z"
          + "&refresh_token_expires_in=900\r\n"))
    #expect(answer.accessToken?.text == "a+t")
    #expect(answer.refreshToken?.text == "r t")
    #expect(answer.tokenType == "Bearer")
    #expect(answer.expiresIn == .seconds(300))
    #expect(answer.refreshTokenLifetime == .ends(after: .seconds(900)))
    #expect(answer.scope == ScopeSet(spaceDelimited: "a b"))
    #expect(answer.idToken?.text == "x.y.z")
  }

  @Test(
    arguments: [
      ("access_token=at&token_type=mac&refresh_token=rt", nil, "rt"),
      ("access_token=a%0D%0At&refresh_token=rt", nil, "rt"),
      ("access_token=%zz&refresh_token=rt", nil, "rt"), ("access_token=at", "at", nil),
    ] as [(String, String?, String?)])
  func formWithAMemberThatIsOfNoUse_keepsTheOthers(body: String, accessToken: String?, refreshToken: String?) throws {
    let answer = try #require(TokenResponse(body))
    #expect(answer.accessToken?.text == accessToken)
    #expect(answer.refreshToken?.text == refreshToken)
  }

  /// What stands in the place of a byte is no token, and no other server's.
  @Test(arguments: ["access_token", "refresh_token", "id_token"])
  func tokenWithInvalidUTF8_isNone(member: String) {
    let parts = ["access_token", "refresh_token", "id_token"].map { name -> [UInt8] in
      Array(#""\#(name)":""#.utf8) + (name == member ? [0xFF] : [])
        + Array((name == "refresh_token" ? "rt\"" : "t\"").utf8)
    }
    let broken = Array("{".utf8) + parts.joined(separator: Array(",".utf8)) + Array("}".utf8)
    let answer = TokenResponse(body: .of(broken))
    #expect(answer?.accessToken?.text == (member == "id_token" ? "t" : nil))
    #expect(answer?.refreshToken?.text == (member == "refresh_token" ? nil : "rt"))
  }

  @Test func answerInUTF16_isRead() throws {
    let text = #"{"access_token":"at","refresh_token":"rt","token_type":"Bearer","expires_in":300}"#
    let answer = try #require(TokenResponse(body: .of(text.utf16.flatMap { [UInt8($0 & 0xFF), UInt8($0 >> 8)] })))
    #expect(answer.accessToken?.text == "at" && answer.refreshToken?.text == "rt" && answer.expiresIn == .seconds(300))
  }

  @Test func responseWithInvalidUTF8_yieldsItsRefreshToken() {
    let body = Array(#"{"name":""#.utf8) + [0xFF, 0xC0] + Array(#"","refresh_token":"rt"}"#.utf8)
    #expect(TokenResponse(body: .of(body))?.refreshToken?.text == "rt")
  }

  /// Cut off at any byte, the reader neither fails nor invents a token.
  @Test func tokenResponseCutAnywhere_yieldsOnlyAWholeRefreshToken() {
    let whole =
      #"{"access_token":"at","x":[{"y":"\""}],"refresh_token":"rt","expires_in":300,"token_type":"Bearer"}"#
    let upToTheToken =
      whole.utf8.count - #","expires_in":300,"token_type":"Bearer"}"#.utf8.count
    for count in 0..<whole.utf8.count {
      let answer = TokenResponse(body: .of(Array(whole.utf8.prefix(count))))
      #expect(answer?.refreshToken?.text == (count >= upToTheToken ? "rt" : nil), "\(count)")
      #expect(answer?.accessToken == nil)
    }
  }
}

extension TokenResponse {
  fileprivate init?(_ text: String) { self.init(body: .of(Array(text.utf8))) }
}

extension Secret {
  static func of(_ bytes: [UInt8]) -> Secret { bytes.withUnsafeBytes { Secret(SecretBytes(copying: $0)) } }
  fileprivate var text: String { withBytes { String(decoding: $0, as: UTF8.self) } }
}
