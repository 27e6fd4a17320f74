import LoopbackHTTP
import Testing

import PracticeProvider

@Suite struct RefreshTests {
  @Test func strictRotation_issuesASuccessorAndEndsTheOldToken() throws {
    let practice = Practice()
    let first = try practice.idp.signIn(user: "alice")
    let answer = practice.refresh(first.refreshToken)
    let second = try #require(answer["refresh_token"])
    #expect(second != first.refreshToken)
    #expect(practice.idp.activeRefreshTokens(user: "alice") == [second])
  }

  @Test func replacedTokenUsedAgain_endsTheFamily() throws {
    let practice = Practice()
    let first = try practice.idp.signIn(user: "alice")
    let other = try practice.idp.signIn(user: "alice")
    let answer = practice.refresh(first.refreshToken)
    let second = try #require(answer["refresh_token"])
    let accessToken = try #require(answer["access_token"])
    #expect(practice.get("/protected", token: accessToken).status == 200)

    #expect(practice.refresh(first.refreshToken).error == "invalid_grant")
    #expect(practice.refresh(second).error == "invalid_grant")
    #expect(practice.get("/protected", token: accessToken).status == 401)
    #expect(practice.idp.endOfGrant(first.grant) == "refreshTokenReused")
    #expect(practice.refresh(other.refreshToken).status == 200)
  }

  @Test func providerWithoutRotation_keepsTheTokenAndSendsNone() throws {
    let practice = Practice { $0.rotation = .none }
    let tokens = try practice.idp.signIn(user: "alice")
    for _ in 0..<3 {
      let answer = practice.refresh(tokens.refreshToken)
      #expect(answer.status == 200)
      #expect(answer.json?["refresh_token"] == nil)
    }
  }

  @Test func replayWithinTheGrace_returnsTheSameSuccessor() throws {
    let practice = Practice { $0.rotation = .grace(seconds: 30) }
    let first = try practice.idp.signIn(user: "alice")
    let second = try #require(practice.refresh(first.refreshToken)["refresh_token"])
    practice.advance(seconds: 29)
    #expect(practice.refresh(first.refreshToken)["refresh_token"] == second)
    practice.advance(seconds: 1)
    #expect(practice.refresh(first.refreshToken).error == "invalid_grant")
    #expect(!practice.idp.isActive(refreshToken: second))
  }

  @Test func grace_endsWhenTheSuccessorIsUsed() throws {
    let practice = Practice { $0.rotation = .grace(seconds: 30) }
    let first = try practice.idp.signIn(user: "alice")
    let second = practice.refresh(first.refreshToken)["refresh_token"]
    #expect(practice.refresh(second).status == 200)
    #expect(practice.refresh(first.refreshToken).error == "invalid_grant")
  }

  @Test func refreshTokenWithALifetime_expires() throws {
    let practice = Practice {
      $0.refreshTokenLifetimeSeconds = 600
      $0.tellsRefreshTokenLifetime = true
    }
    let tokens = try practice.idp.signIn(user: "alice")
    practice.advance(seconds: 599)
    let answer = practice.refresh(tokens.refreshToken)
    #expect(answer.json?["refresh_token_expires_in"] == 600)
    practice.advance(seconds: 600)
    #expect(practice.refresh(answer["refresh_token"]).error == "invalid_grant")
  }

  @Test func accessToken_expiresByTheProvidersClock() throws {
    let practice = Practice { $0.accessTokenLifetimeSeconds = 20 }
    let tokens = try practice.idp.signIn(user: "alice")
    practice.advance(seconds: 19)
    #expect(practice.get("/protected", token: tokens.accessToken).status == 200)
    practice.idp.setClockOffset(milliseconds: 1000)
    #expect(practice.get("/protected", token: tokens.accessToken).status == 401)
  }

  @Test func refreshWithFewerScopes_narrowsOneAccessTokenOnly() throws {
    let practice = Practice()
    let tokens = try practice.idp.signIn(user: "alice", scopes: ["openid", "mail", "files"])
    let narrow = practice.post(
      "/token",
      [
        "grant_type": "refresh_token", "client_id": "lanyard-demo", "refresh_token": tokens.refreshToken ?? "",
        "scope": "mail",
      ]
    )
    #expect(narrow["scope"] == "mail")
    #expect(practice.refresh(narrow["refresh_token"])["scope"] == "openid mail files")
  }

  @Test func refreshWithMoreScopes_isRefusedAndKeepsTheToken() throws {
    let practice = Practice()
    let tokens = try practice.idp.signIn(user: "alice", scopes: ["openid", "mail"])
    let greedy = practice.post(
      "/token",
      [
        "grant_type": "refresh_token", "client_id": "lanyard-demo", "refresh_token": tokens.refreshToken ?? "",
        "scope": "mail files",
      ]
    )
    #expect(greedy.error == "invalid_scope")
    #expect(practice.idp.isActive(refreshToken: tokens.refreshToken ?? ""))
  }

  @Test func resourceParameter_becomesTheAudience() throws {
    let practice = Practice()
    let tokens = try practice.idp.signIn(user: "alice")
    let form = [
      ("grant_type", "refresh_token"), ("client_id", "lanyard-demo"), ("refresh_token", tokens.refreshToken ?? ""),
      ("resource", "https://mail.example"), ("resource", "https://files.example/"),
    ]
    let answer = practice.answer(.postForm("/token", form.map { (name: $0.0, value: $0.1) }))
    #expect(try DecodedJWT(answer["access_token"]).claims["aud"] == ["https://mail.example", "https://files.example/"])
  }

  @Test func resourceOfAnotherClient_isRefused() throws {
    let practice = Practice {
      $0.clients = [PracticeClient(id: "lanyard-demo", resources: ["https://mail.example"])]
    }
    let tokens = try practice.idp.signIn(user: "alice")
    let answer = practice.post(
      "/token",
      [
        "grant_type": "refresh_token", "client_id": "lanyard-demo", "refresh_token": tokens.refreshToken ?? "",
        "resource": "https://files.example",
      ]
    )
    #expect(answer.error == "invalid_target")
    #expect(practice.idp.isActive(refreshToken: tokens.refreshToken ?? ""))
  }

  @Test func refreshedIDToken_keepsAuthTimeAndHasNoNonce() throws {
    let practice = Practice()
    let first = practice.exchange(code: try practice.code())
    practice.advance(seconds: 100)
    let second = practice.refresh(first["refresh_token"])
    let claims = try DecodedJWT(second["id_token"]).claims
    #expect(claims["auth_time"] == 1_893_456_000)
    #expect(claims["iat"] == 1_893_456_100)
    #expect(claims["nonce"] == nil)
    practice.idp.configure { $0.idTokenOnRefresh = false }
    #expect(practice.refresh(second["refresh_token"]).json?["id_token"] == nil)
  }

  @Test func disabledPerson_isRefusedUntilEnabledAgain() throws {
    let practice = Practice()
    let tokens = try practice.idp.signIn(user: "alice")
    try practice.idp.setUser("alice", disabled: true)
    let answer = practice.refresh(tokens.refreshToken)
    #expect(answer.error == "invalid_grant")
    #expect(answer["suberror"] == "account_disabled")
    #expect(practice.get("/protected", token: tokens.accessToken).status == 401)

    practice.idp.configure { $0.disabledUserSuberror = nil }
    #expect(practice.refresh(tokens.refreshToken)["suberror"] == nil)
    try practice.idp.setUser("alice", disabled: false)
    #expect(practice.refresh(tokens.refreshToken).status == 200)
  }

  @Test func refreshTokenOfAnotherClient_isRefusedAndKept() throws {
    let practice = Practice()
    let tokens = try practice.idp.signIn(user: "alice", client: "confidential")
    #expect(practice.refresh(tokens.refreshToken).error == "invalid_grant")
    #expect(practice.idp.isActive(refreshToken: tokens.refreshToken ?? ""))
  }

  @Test func refreshToken_canRequireOfflineAccess() throws {
    let practice = Practice { $0.refreshTokenNeedsOfflineAccess = true }
    #expect(try practice.idp.signIn(user: "alice", scopes: ["openid"]).refreshToken == nil)
    #expect(try practice.idp.signIn(user: "alice", scopes: ["openid", "offline_access"]).refreshToken != nil)
  }

  @Test func refreshIn_isSentWhenConfigured() throws {
    let practice = Practice { $0.refreshInSeconds = 150 }
    #expect(practice.refresh(try practice.idp.signIn(user: "alice").refreshToken).json?["refresh_in"] == 150)
  }

  @Test func accessToken_isARealisticJWTOrOpaque() throws {
    let practice = Practice()
    let jwt = try practice.idp.signIn(user: "bob").accessToken
    #expect((800...1100).contains(jwt.utf8.count))
    practice.idp.configure { $0.accessTokenFormat = .opaque }
    let opaque = try practice.idp.signIn(user: "bob").accessToken
    #expect(!opaque.contains("."))
    #expect(practice.get("/protected", token: opaque).status == 200)
  }
}
