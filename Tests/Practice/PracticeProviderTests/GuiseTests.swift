import LoopbackHTTP
import Testing

import PracticeProvider

@Suite struct GuiseTests {
  /// A provider in a guise, with its issuer's path.
  private static func practice(_ name: String, _ change: (inout PracticeOptions) -> Void = { _ in }) throws -> Practice
  {
    let guise = try #require(Guise.named(name))
    var options = PracticeOptions()
    try options.wear(guise)
    change(&options)
    let worn = options
    return Practice(issuer: Practice.issuer + guise.path) { $0 = worn }
  }

  private static func code(_ practice: Practice, at path: String, scope: String = "openid profile email") throws
    -> String
  {
    let query = practice.authorizationURL(["scope": scope]).drop { $0 != "?" }
    let location = try practice.idp.authorize(url: Practice.issuer + path + query, as: "alice")
    return try #require(Redirect(location)["code"])
  }

  private static func exchange(_ code: String, _ practice: Practice, at path: String) -> HTTPResponse {
    practice.post(
      path,
      [
        "grant_type": "authorization_code", "client_id": "lanyard-demo", "code": code,
        "redirect_uri": Practice.redirectURI, "code_verifier": Practice.verifier,
      ])
  }

  @Test(arguments: Guise.names) func everyGuise_canBeWorn(name: String) throws {
    let practice = try Self.practice(name)
    let told = practice.answer(.get("/practice/provider"))
    #expect(told["issuer"]?.hasPrefix(Practice.issuer) == true, "\(told.text)")
    #expect(told["preset"] == Guise.named(name)?.preset)
    let signedIn = practice.control("sign-in", #"{"user":"alice"}"#)
    #expect(signedIn.status == 200, "\(signedIn.text)")
  }

  @Test func unknownGuise_isNone() {
    #expect(Guise.named("nobody") == nil)
    #expect(Guise.names.count >= 30)
    #expect(Guise.names == Guise.names.sorted())
  }

  @Test func endpointsOfAGuise_areWhereTheServerHasThem() throws {
    let practice = try Self.practice("keycloak")
    let document = practice.get("/realms/acme/.well-known/openid-configuration")
    let path = "/realms/acme/protocol/openid-connect"
    #expect(document["issuer"] == "https://idp.test/realms/acme")
    #expect(document["token_endpoint"] == "https://idp.test\(path)/token")
    for elsewhere in ["/realms/acme/token", "/token", "/realms/acme/jwks", "/.well-known/openid-configuration"] {
      #expect(practice.get(elsewhere).status == 404, "\(elsewhere)")
    }
    // The pages stay where they are.
    #expect(practice.get("/realms/acme/").status == 200)
    // What stands before the key is for encryption.
    let keys = try #require(practice.get("\(path)/certs").json?["keys"]?.arrayValue)
    #expect(keys.map { $0["use"]?.stringValue } == ["enc", "sig"])
    // Scripts name the paths as they are without a guise.
    #expect(practice.idp.requestCount(to: "/jwks") == 1)
  }

  @Test func tokenAnswerOfAGuise_hasItsMembers() throws {
    let practice = try Self.practice("keycloak")
    let path = "/realms/acme/protocol/openid-connect"
    let code = try Self.code(practice, at: "\(path)/auth", scope: "openid profile email offline_access")
    let answer = Self.exchange(code, practice, at: "\(path)/token")
    #expect(answer.status == 200, "\(answer.text)")
    #expect(answer.json?["expires_in"] == 300)
    #expect(answer.json?["refresh_expires_in"] == 0)
    #expect(answer["session_state"]?.isEmpty == false)
    let idToken = try DecodedJWT(answer["id_token"])
    #expect(idToken.claims["iss"] == "https://idp.test/realms/acme")
    #expect(idToken.claims["typ"] == "ID")
    #expect(idToken.claims["tid"] == nil)
    #expect(idToken.claims["nonce"] == "n-1")
    // The old refresh token stays valid beside the new one.
    for _ in 1...2 {
      let refreshed = practice.post(
        "\(path)/token",
        [
          "grant_type": "refresh_token", "client_id": "lanyard-demo", "refresh_token": answer["refresh_token"] ?? "",
        ])
      #expect(refreshed["refresh_token"] != answer["refresh_token"])
      #expect(refreshed["refresh_token"]?.isEmpty == false)
    }
  }

  @Test func issuerOfAGuise_keepsItsSlash() throws {
    let practice = try Self.practice("authentik")
    #expect(practice.idp.issuer == "https://idp.test/application/o/acme/")
    let document = practice.get("/application/o/acme/.well-known/openid-configuration")
    #expect(document["issuer"] == "https://idp.test/application/o/acme/")
    let code = try Self.code(practice, at: "/application/o/authorize/")
    let answer = Self.exchange(code, practice, at: "/application/o/token/")
    #expect(try DecodedJWT(answer["id_token"]).claims["iss"] == "https://idp.test/application/o/acme/")
  }

  @Test func guiseWithoutRefreshTokensAndIDTokens_issuesNone() throws {
    let practice = try Self.practice("github")
    let code = try Self.code(practice, at: "/login/oauth/authorize", scope: "read:user user:email")
    let answer = practice.post(
      "/login/oauth/access_token",
      [
        "grant_type": "authorization_code", "client_id": "lanyard-demo", "client_secret": "practice-secret",
        "code": code,
        "redirect_uri": Practice.redirectURI, "code_verifier": Practice.verifier,
      ])
    #expect(answer["scope"] == "read:user,user:email")
    for member in ["refresh_token", "id_token", "expires_in"] { #expect(answer.json?[member] == nil) }
    let person = practice.get("/user", token: answer["access_token"])
    #expect(person.json?["id"] == 41_001)
    #expect(person["login"] == "alice")
  }

  @Test func refusalsOfAGuise_areInItsWords() throws {
    let practice = try Self.practice("twitch")
    let dead = practice.post(
      "/oauth2/token",
      [
        "grant_type": "refresh_token", "client_id": "lanyard-demo", "client_secret": "practice-secret",
        "refresh_token": "rt_unknown",
      ])
    #expect(dead.status == 400)
    #expect(dead["message"] == "Invalid refresh token")
    #expect(practice.control("faults", #"{"path":"/token","effect":"refusal","refusal":"rateLimit"}"#).status == 200)
    #expect(practice.post("/oauth2/token", ["grant_type": "refresh_token"]).status == 429)
    #expect(practice.control("faults", #"{"path":"/token","effect":"refusal","refusal":"boredom"}"#).status == 400)
  }

  /// Without a guise it is the practice provider's own.
  @Test(arguments: [("rateLimit", 429), ("deadToken", 400), ("disabledPerson", 400), ("badClient", 401)])
  func refusalWithoutAGuise_isTheStandards(refusal: String, status: Int) {
    let practice = Practice()
    let queued = practice.control("faults", #"{"path":"/token","effect":"refusal","refusal":"\#(refusal)"}"#)
    #expect(queued.status == 200)
    #expect(practice.post("/token", ["grant_type": "refresh_token"]).status == status)
  }

  /// A server that says nothing of disabled people takes their refresh tokens for dead ones.
  @Test(arguments: [
    ("keycloak", "User disabled"), ("dex", "Refresh token is invalid or has already been claimed by another client."),
  ])
  func disabledPerson_isRefusedInTheWordsOfTheGuise(name: String, description: String) throws {
    let practice = try Self.practice(name)
    let tokens = try practice.idp.signIn(user: "alice")
    try practice.idp.setUser("alice", disabled: true)
    let path = name == "dex" ? "/dex/token" : "/realms/acme/protocol/openid-connect/token"
    let answer = practice.post(
      path,
      [
        "grant_type": "refresh_token", "client_id": "lanyard-demo", "refresh_token": tokens.refreshToken ?? "",
      ])
    #expect(answer["error_description"] == description)
  }

  @Test(arguments: [
    (#"{"a":"{expires_in}","b":"{expires_in:text}","c":"in {expires_in} s"}"#, #"{"a":60,"b":"60","c":"in 60 s"}"#),
    (#"{"a":"{scope:list}","b":"{scope:commas}","c":"{scope}"}"#, #"{"a":["x","y"],"b":"x,y","c":"x y"}"#),
    (#"{"a":"{refresh_token}","b":["{refresh_token}","-"],"c":"r={refresh_token}"}"#, #"{"b":["-"]}"#),
    (
      #"{"a":"{tenantid}","b":"{5B1A-{number}}","c":"}{","d":null}"#,
      #"{"a":"{tenantid}","b":"{5B1A-7}","c":"}{","d":null}"#
    ),
  ])
  func answer_isFilledWithItsValues(template: String, filled: String) throws {
    let values: GuiseValues = ["expires_in": 60, "scope": "x y", "number": 7]
    #expect(try PracticeJSON(parsing: Array(template.utf8)).filled(with: values)?.text == filled)
  }
}
