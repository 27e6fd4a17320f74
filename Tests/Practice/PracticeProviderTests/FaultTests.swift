import LoopbackHTTP
import Testing

import PracticeProvider

@Suite struct FaultTests {
  private func refreshRequest(_ token: String?) -> HTTPRequest {
    .postForm(
      "/token",
      [("grant_type", "refresh_token"), ("client_id", "lanyard-demo"), ("refresh_token", token ?? "")]
    )
  }

  @Test func faults_applyInOrderAndAreUsedUp() throws {
    let practice = Practice()
    let tokens = try practice.idp.signIn(user: "alice")
    practice.idp.enqueueFault("/token", .status(503, headers: [("Retry-After", "7")], count: 2))
    practice.idp.enqueueFault("/token", .error("temporarily_unavailable"))
    #expect(practice.refresh(tokens.refreshToken).header("Retry-After") == "7")
    #expect(practice.get("/jwks").status == 200)
    #expect(practice.refresh(tokens.refreshToken).status == 503)
    #expect(practice.refresh(tokens.refreshToken).error == "temporarily_unavailable")
    #expect(!practice.idp.hasFaults)
    #expect(practice.refresh(tokens.refreshToken).status == 200)
  }

  @Test func dropBeforeProcessing_keepsTheTokenAndDropAfterRotatesIt() throws {
    let practice = Practice()
    let tokens = try practice.idp.signIn(user: "alice")
    let old = try #require(tokens.refreshToken)
    practice.idp.enqueueFault("/token", Fault(.dropBeforeProcessing, delayMilliseconds: 5))
    practice.idp.enqueueFault("/token", Fault(.dropAfterProcessing))
    guard case .drop(5, false) = practice.idp.handle(refreshRequest(old)) else { Issue.record("no drop"); return }
    #expect(practice.idp.isActive(refreshToken: old))
    guard case .drop(0, false) = practice.idp.handle(refreshRequest(old)) else { Issue.record("no drop"); return }
    #expect(!practice.idp.isActive(refreshToken: old))
    #expect(practice.idp.activeRefreshTokens(user: "alice").count == 1)
    #expect(practice.refresh(old).error == "invalid_grant")
  }

  @Test func delayFault_isReturnedAsAValue() throws {
    let practice = Practice()
    practice.idp.enqueueFault("/jwks", .delay(milliseconds: 1500))
    guard case .respond(let response, 1500) = practice.idp.handle(.get("/jwks")) else {
      Issue.record("no delay")
      return
    }
    #expect(response.json?["keys"] != nil)
  }

  @Test func bodyFaults_areEndlessHugeTruncatedOrNotJSON() throws {
    let practice = Practice()
    practice.idp.enqueueFault("/token", Fault(.endlessBody))
    practice.idp.enqueueFault("/token", Fault(.hugeBody(bytes: 1_000_000)))
    practice.idp.enqueueFault("/token", Fault(.truncatedBody(bytes: 12)))
    practice.idp.enqueueFault("/token", Fault(.notJSON))
    practice.idp.enqueueFault("/token", Fault(.hangBeforeProcessing))
    let tokens = try practice.idp.signIn(user: "alice")
    guard case .endlessBody = practice.idp.handle(refreshRequest("x")) else { Issue.record("not endless"); return }
    let huge = practice.refresh(tokens.refreshToken)
    #expect(huge.body.count > 1_000_000)
    #expect(huge.json?["access_token"] != nil)
    guard case .truncate(let whole, 12) = practice.idp.handle(refreshRequest(huge["refresh_token"])) else {
      Issue.record("not cut")
      return
    }
    #expect(whole.status == 200)
    let portal = practice.refresh("x")
    #expect(portal.status == 200)
    #expect(portal.json == nil)
    guard case .hang = practice.idp.handle(refreshRequest("x")) else { Issue.record("no hang"); return }
  }

  @Test func answerAfterProcessing_replacesTheAnswerOnly() throws {
    let practice = Practice()
    let tokens = try practice.idp.signIn(user: "alice")
    practice.idp.enqueueFault("/token", Fault(.answerAfterProcessing(HTTPResponse(status: 502))))
    #expect(practice.refresh(tokens.refreshToken).status == 502)
    #expect(!practice.idp.isActive(refreshToken: tokens.refreshToken ?? ""))
  }

  @Test func changeAnswerFault_changesMembers() throws {
    let practice = Practice()
    let tokens = try practice.idp.signIn(user: "alice")
    practice.idp.enqueueFault("/token", Fault(.changeAnswer(["expires_in": nil, "scope": "openid", "extra": 1])))
    let answer = try #require(practice.refresh(tokens.refreshToken).json)
    #expect(answer["expires_in"] == nil)
    #expect(answer["scope"] == "openid")
    #expect(answer["extra"] == 1)
    #expect(answer["access_token"] != nil)
  }

  @Test func faultWithACondition_appliesToMatchingRequestsForEver() throws {
    let practice = Practice()
    let tokens = try practice.idp.signIn(user: "alice")
    let fault = Fault(.answer(.oauthError("invalid_scope")), count: nil, matching: ["scope": "mail"])
    practice.idp.enqueueFault("/token", fault)
    let answer = practice.refresh(tokens.refreshToken)
    #expect(answer.status == 200)
    let mail: KeyValuePairs = [
      "grant_type": "refresh_token", "client_id": "lanyard-demo", "scope": "mail",
      "refresh_token": answer["refresh_token"] ?? "",
    ]
    for _ in 0..<3 { #expect(practice.post("/token", mail).error == "invalid_scope") }
    practice.idp.clearFaults("/token")
    #expect(!practice.idp.hasFaults)
  }

  @Test func changeIDTokenFault_changesClaimsAndSignature() throws {
    let practice = Practice()
    let claims: [String: PracticeJSON] = ["sub": "mallory", "aud": ["lanyard-demo", "other"], "nonce": nil]
    practice.idp.enqueueFault("/token", Fault(.changeIDToken(claims)))
    let wrong = try DecodedJWT(practice.exchange(code: try practice.code())["id_token"])
    #expect(wrong.claims["sub"] == "mallory")
    #expect(wrong.claims["aud"] == ["lanyard-demo", "other"])
    #expect(wrong.claims["nonce"] == nil)
    let right = try DecodedJWT(practice.exchange(code: try practice.code())["id_token"])
    #expect(right.claims["sub"] == "alice-acme")

    practice.idp.enqueueFault("/token", Fault(.changeIDToken([:], signature: .unsigned)))
    let unsigned = try DecodedJWT(practice.exchange(code: try practice.code())["id_token"])
    #expect(unsigned.header["alg"] == "none")
    #expect(unsigned.signature.isEmpty)
    practice.idp.enqueueFault("/token", Fault(.changeIDToken([:], signature: .unknownKey)))
    let unknown = try DecodedJWT(practice.exchange(code: try practice.code())["id_token"])
    #expect(unknown.header["kid"] == "unpublished")

    practice.idp.configure { $0.idTokenOverrides = ["auth_time": .number(1893455999.5)] }
    let odd = try DecodedJWT(practice.exchange(code: try practice.code())["id_token"])
    #expect(odd.claims["auth_time"] == .number(1893455999.5))
  }

  @Test func requestLog_recordsOutcomesAndNoToken() throws {
    let practice = Practice()
    let tokens = try practice.idp.signIn(user: "alice")
    practice.idp.enqueueFault("/token", Fault(.dropAfterProcessing))
    _ = practice.idp.handle(refreshRequest(tokens.refreshToken))
    _ = practice.refresh(tokens.refreshToken)
    _ = practice.post("/token", ["grant_type": tokens.refreshToken ?? "", "client_id": tokens.accessToken])
    let log = practice.idp.requests(to: "/token")
    #expect(log.map(\.grantType) == ["refresh_token", "refresh_token", "other"])
    #expect(log.map(\.status) == [nil, 400, 401])
    #expect(log.map(\.error) == [nil, "invalid_grant", "invalid_client"])
    #expect(log.map(\.clientID) == ["lanyard-demo", "lanyard-demo", nil])
    #expect(log.map(\.metFault) == [true, false, false])
    #expect(practice.idp.requestCount(to: "/token") == 3)
    let dump = String(describing: practice.idp.requests())
    #expect(!dump.contains(tokens.refreshToken ?? "?"))
    #expect(!dump.contains(tokens.accessToken))
  }
}
