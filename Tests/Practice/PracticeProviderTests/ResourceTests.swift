import LoopbackHTTP
import Testing

import PracticeProvider

@Suite struct ResourceTests {
  @Test func userinfo_followsTheScopes() throws {
    let practice = Practice()
    let full = try practice.idp.signIn(user: "alice")
    let answer = practice.get("/userinfo", token: full.accessToken)
    #expect(answer["sub"] == "alice-acme")
    #expect(answer["name"] == "Alice Archer")
    #expect(answer["email"] == "alice@acme.example")
    let bare = try practice.idp.signIn(user: "alice", scopes: ["openid"])
    #expect(practice.get("/userinfo", token: bare.accessToken).json?["email"] == nil)
    let none = try practice.idp.signIn(user: "alice", scopes: ["mail"])
    let refused = practice.get("/userinfo", token: none.accessToken)
    #expect(refused.status == 403)
    #expect(refused.header("WWW-Authenticate")?.contains("error=\"insufficient_scope\"") == true)
  }

  @Test func entitlements_areCurrentAndVersioned() throws {
    let practice = Practice()
    let tokens = try practice.idp.signIn(user: "carol", scopes: ["openid", "workorders:read"])
    let before = try #require(practice.get("/entitlements", token: tokens.accessToken).json)
    #expect(before["roles"] == ["trainee"])
    #expect(before["entitlements"] == ["workorders.basic"])
    #expect(before["scopes"] == ["openid", "workorders:read"])
    #expect(before["version"] == 1)
    try practice.idp.setUser("carol", roles: ["technician"])
    let after = try #require(practice.get("/entitlements", token: tokens.accessToken).json)
    #expect(after["roles"] == ["technician"])
    #expect(after["version"] == 2)
  }

  @Test func requestWithoutAValidToken_isChallenged() throws {
    let practice = Practice()
    let without = practice.get("/protected")
    #expect(without.status == 401)
    #expect(without.header("WWW-Authenticate") == "Bearer realm=\"practice\"")
    let bad = practice.get("/protected", token: "made-up")
    #expect(bad.status == 401)
    #expect(bad.header("WWW-Authenticate")?.contains("error=\"invalid_token\"") == true)
    let tokens = try practice.idp.signIn(user: "alice", scopes: ["openid", "mail"])
    #expect(practice.get("/protected/things/7", token: tokens.accessToken)["sub"] == "alice-acme")
  }

  @Test func protectedResource_canAskForScopesOrStepUp() throws {
    let practice = Practice()
    let tokens = try practice.idp.signIn(user: "alice", scopes: ["openid", "mail"])
    let challenge = { (query: String) in
      let answer = practice.get("/protected?\(query)", token: tokens.accessToken)
      return (answer.status, answer.header("WWW-Authenticate") ?? "")
    }
    #expect(challenge("scope=mail").0 == 200)
    #expect(challenge("scope=files").0 == 403)
    #expect(challenge("audience=https%3A%2F%2Fmail.example").0 == 401)
    practice.advance(seconds: 61)
    let stepUp = challenge("max_age=60")
    #expect(stepUp.0 == 401)
    #expect(stepUp.1.contains("error=\"insufficient_user_authentication\""))
    #expect(stepUp.1.contains("max_age=\"60\""))
    #expect(challenge("claims=eyJ9").1.contains("claims=\"eyJ9\""))
  }

  @Test func repeatedIdempotencyKey_actsOnce() throws {
    let practice = Practice()
    let token = try practice.idp.signIn(user: "alice").accessToken
    let send = { (key: String?) in
      let headers = [(name: "Authorization", value: "Bearer \(token)")] + (key.map { [("Idempotency-Key", $0)] } ?? [])
      return practice.answer(.postForm("/protected/orders", [("a", "1")], headers: headers)).json?["effect"]
    }
    #expect(send("k1") == 1)
    #expect(send("k1") == 1)
    #expect(send(nil) == 2)
    #expect(practice.get("/protected", token: token).json?["effect"] == 0)
    #expect(practice.idp.protectedEffectCount == 2)
  }

  @Test func logout_endsTheBrowserSessionAndRedirects() throws {
    let practice = Practice()
    let page = practice.get(practice.authorizationURL())
    let answer = practice.post(
      "/authorize",
      [
        "interaction": page.hiddenField("interaction") ?? "", "username": "alice", "password": "alice",
        "decision": "allow",
      ]
    )
    let cookie = [(name: "Cookie", value: String((answer.header("Set-Cookie") ?? "").prefix { $0 != ";" }))]
    let tokens = practice.exchange(code: answer.redirect["code"] ?? "")
    #expect(practice.get(practice.authorizationURL(["prompt": "none"]), headers: cookie).redirect["code"] != nil)

    practice.advance(seconds: 3600)
    let query = FormEncoding.encode([
      ("id_token_hint", tokens["id_token"] ?? ""),
      ("post_logout_redirect_uri", "http://127.0.0.1:50000/callback"), ("state", "bye"),
    ])
    let logout = practice.get("/logout?\(query)")
    #expect(logout.status == 302)
    #expect(logout.header("Location") == "http://127.0.0.1:50000/callback?state=bye")
    let silent = practice.get(practice.authorizationURL(["prompt": "none"]), headers: cookie)
    #expect(silent.redirect["error"] == "login_required")
    #expect(practice.refresh(tokens["refresh_token"]).status == 200)
  }

  @Test func logout_canEndTheTokensToo() throws {
    let practice = Practice { $0.logoutEndsTokens = true }
    let tokens = try practice.idp.signIn(user: "alice")
    let other = try practice.idp.signIn(user: "alice")
    let page = practice.get("/logout?id_token_hint=\(tokens.idToken ?? "")")
    #expect(page.text.contains("You are signed out"))
    #expect(practice.idp.endOfGrant(tokens.grant) == "signedOut")
    #expect(practice.idp.endOfGrant(other.grant) == nil)
  }

  @Test func logoutWithAnUnknownRedirect_isRefused() throws {
    let practice = Practice()
    let tokens = try practice.idp.signIn(user: "alice")
    let query = FormEncoding.encode([
      ("id_token_hint", tokens.idToken ?? ""), ("post_logout_redirect_uri", "https://evil.example/"),
    ])
    #expect(practice.get("/logout?\(query)").status == 400)
    #expect(practice.get("/logout?id_token_hint=made-up").status == 400)
  }
}
