import LoopbackHTTP
import Testing

import PracticeProvider

@Suite struct AuthorizationTests {
  @Test func approvedAuthorization_redirectsWithCodeStateAndIssuer() throws {
    let practice = Practice()
    let redirect = Redirect(try practice.idp.authorize(url: practice.authorizationURL(), as: "alice"))
    #expect(redirect.target == Practice.redirectURI)
    #expect(redirect["code"]?.isEmpty == false)
    #expect(redirect["state"] == "s-1")
    #expect(redirect["iss"] == "https://idp.test")
  }

  @Test func code_isExchangedForTokens() throws {
    let practice = Practice()
    let answer = practice.exchange(code: try practice.code())
    #expect(answer.status == 200)
    #expect(answer["token_type"] == "Bearer")
    #expect(answer.json?["expires_in"] == 300)
    #expect(answer["scope"] == "openid profile email mail")
    #expect(answer.header("Cache-Control") == "no-store")

    let idToken = try DecodedJWT(answer["id_token"])
    #expect(idToken.claims["iss"] == "https://idp.test")
    #expect(idToken.claims["sub"] == "alice-acme")
    #expect(idToken.claims["aud"] == "lanyard-demo")
    #expect(idToken.claims["azp"] == "lanyard-demo")
    #expect(idToken.claims["nonce"] == "n-1")
    #expect(idToken.claims["tid"] == "acme")
    #expect(idToken.claims["auth_time"] == 1_893_456_000)
    #expect(idToken.claims["exp"] == 1_893_456_300)
    #expect(idToken.claims["email"] == "alice@acme.example")

    let accessToken = try DecodedJWT(answer["access_token"])
    #expect(accessToken.header["typ"] == "at+jwt")
    #expect(accessToken.claims["roles"] == ["technician"])
    #expect(accessToken.claims["scope"] == "openid profile email mail")
    let hash = Digest.sha256((answer["access_token"] ?? "").utf8).prefix(16)
    #expect(idToken.claims["at_hash"] == .string(Base64URL.encode(hash)))
  }

  @Test(
    arguments: [
      ("code_challenge", nil, "invalid_request"),
      ("code_challenge_method", "plain", "invalid_request"),
      ("code_challenge_method", nil, "invalid_request"),
      ("code_challenge", "short", "invalid_request"),
      ("response_type", "token", "unsupported_response_type"),
      ("response_type", nil, "invalid_request"),
      ("response_mode", "fragment", "invalid_request"),
      ("scope", "openid everything", "invalid_scope"),
      ("prompt", "none login", "invalid_request"),
      ("prompt", "none", "login_required"),
      ("request", "eyJ", "request_not_supported"),
      ("resource", "not a uri", "invalid_target"),
    ] as [(String, String?, String)])
  func faultyAuthorizationRequest_redirectsWithAnError(parameter: String, value: String?, error: String) {
    let practice = Practice()
    let answer = practice.get(practice.authorizationURL([parameter: value]))
    #expect(answer.status == 302)
    #expect(answer.redirect.target == Practice.redirectURI)
    #expect(answer.redirect["error"] == error)
    #expect(answer.redirect["state"] == "s-1")
    #expect(answer.redirect["iss"] == "https://idp.test")
    #expect(answer.redirect["code"] == nil)
  }

  @Test(
    arguments: [
      ("client_id", "nobody"), ("client_id", nil), ("redirect_uri", "https://evil.example/callback"),
      ("redirect_uri", "http://127.0.0.1:49152/elsewhere"), ("redirect_uri", "http://127.0.0.1.evil.example/callback"),
      ("redirect_uri", nil),
    ] as [(String, String?)])
  func untrustedRedirectURI_isNotRedirectedTo(parameter: String, value: String?) {
    let practice = Practice()
    let answer = practice.get(practice.authorizationURL([parameter: value]))
    #expect(answer.status == 400)
    #expect(answer.header("Location") == nil)
    #expect(answer.header("Content-Type")?.hasPrefix("text/html") == true)
  }

  @Test func duplicateAuthorizationParameter_isRefused() {
    let practice = Practice()
    #expect(practice.get(practice.authorizationURL() + "&scope=mail").status == 400)
  }

  @Test(arguments: [
    ("http://127.0.0.1:1/callback", "http://127.0.0.1/callback", true),
    ("http://127.0.0.1/callback", "http://127.0.0.1:8080/callback", true),
    ("http://[::1]:7000/callback", "http://[::1]/callback", true),
    ("http://127.0.0.1:1/callback", "http://localhost/callback", false),
    ("http://127.0.0.1:1/callback?x=1", "http://127.0.0.1/callback", false),
    ("http://127.0.0.1:99999/callback", "http://127.0.0.1/callback", false),
    ("http://user@127.0.0.1:1/callback", "http://127.0.0.1/callback", false),
    ("https://app.example:1/callback", "https://app.example/callback", false),
    ("com.example.app:/callback", "com.example.app:/callback", true),
  ])
  func loopbackRedirectURI_matchesOnAnyPort(requested: String, registered: String, matches: Bool) {
    #expect(RedirectURI.matches(requested, registered: registered) == matches)
  }

  @Test func codeUsedTwice_endsItsTokens() throws {
    let practice = Practice()
    let code = try practice.code()
    let refreshToken = try #require(practice.exchange(code: code)["refresh_token"])
    #expect(practice.idp.isActive(refreshToken: refreshToken))
    #expect(practice.exchange(code: code).error == "invalid_grant")
    #expect(!practice.idp.isActive(refreshToken: refreshToken))
    let grant = try #require(practice.idp.grant(ofToken: refreshToken))
    #expect(practice.idp.endOfGrant(grant) == "codeReused")
  }

  @Test func code_isBoundToVerifierRedirectClientAndLifetime() throws {
    let practice = Practice()
    let code = try practice.code()
    #expect(practice.exchange(code: code, verifier: String(repeating: "x", count: 43)).error == "invalid_grant")
    #expect(practice.exchange(code: code, verifier: "short").error == "invalid_grant")
    let fields: KeyValuePairs = [
      "grant_type": "authorization_code", "client_id": "lanyard-demo", "code": code,
      "redirect_uri": "http://127.0.0.1/callback",
      "code_verifier": Practice.verifier,
    ]
    #expect(practice.post("/token", fields).error == "invalid_grant")
    let other: KeyValuePairs = [
      "grant_type": "authorization_code", "client_id": "confidential", "client_secret": "practice-secret", "code": code,
      "redirect_uri": Practice.redirectURI, "code_verifier": Practice.verifier,
    ]
    #expect(practice.post("/token", other).error == "invalid_grant")
    practice.advance(seconds: 60)
    #expect(practice.exchange(code: code).error == "invalid_grant")
  }

  @Test func deniedAuthorization_redirectsWithAccessDenied() throws {
    let practice = Practice()
    let redirect = Redirect(try practice.idp.denyAuthorization(url: practice.authorizationURL()))
    #expect(redirect["error"] == "access_denied")
    #expect(redirect["state"] == "s-1")
  }

  @Test func automaticApproval_redirectsWithoutAPage() {
    let practice = Practice { $0.autoApprove = "bob" }
    #expect(practice.get(practice.authorizationURL()).redirect["code"] != nil)
    let answer = practice.exchange(
      code: practice.get(practice.authorizationURL(["login_hint": "carol"])).redirect["code"] ?? "")
    #expect((try? DecodedJWT(answer["id_token"]))?.claims["sub"] == "carol-acme")
    #expect(practice.get(practice.authorizationURL(["prompt": "none"])).redirect["code"] != nil)
  }

  @Test func personOfTwoTenants_hasTwoSubjects() throws {
    let practice = Practice()
    let acme = try DecodedJWT(practice.exchange(code: try practice.code(as: "alice"))["id_token"])
    let globex = try DecodedJWT(practice.exchange(code: try practice.code(as: "alice@globex"))["id_token"])
    #expect(acme.claims["tid"] == "acme")
    #expect(globex.claims["tid"] == "globex")
    #expect(acme.claims["sub"] != globex.claims["sub"])
  }
}
