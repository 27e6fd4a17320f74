import Foundation
import LoopbackHTTP
import Testing

import PracticeProvider

@Suite struct ControlTests {
  @Test func controlAPI_scriptsFaults() throws {
    let practice = Practice()
    let answer = practice.control(
      "faults",
      """
      {"faults":[{"path":"/token","effect":"answer","status":429,"headers":{"Retry-After":"3"},"json":{"error":"slow"},
       "count":2,"delayMilliseconds":40,"when":{"grant_type":"refresh_token"}},
       {"path":"/jwks","effect":"truncatedBody","bytes":3}]}
      """
    )
    #expect(answer.status == 200)
    #expect(practice.post("/token", ["grant_type": "password"]).status == 400)
    let request = HTTPRequest.postForm("/token", [("grant_type", "refresh_token")])
    guard case .respond(let slow, 40) = practice.idp.handle(request) else { Issue.record("no delay"); return }
    #expect(slow.status == 429)
    #expect(slow.header("Retry-After") == "3")
    #expect(slow["error"] == "slow")
    guard case .truncate(_, 3) = practice.idp.handle(.get("/jwks")) else { Issue.record("not cut"); return }
    #expect(practice.control("faults", "", method: "DELETE").status == 200)
    #expect(!practice.idp.hasFaults)
  }

  @Test(arguments: [
    "answer", "answerAfterProcessing", "dropBeforeProcessing", "dropAfterProcessing", "hangBeforeProcessing",
    "hangAfterProcessing", "endlessBody", "hugeBody", "truncatedBody", "notJSON", "none", "changeAnswer",
    "changeIDToken",
  ])
  func everyFaultEffect_hasAName(effect: String) {
    let practice = Practice()
    #expect(practice.control("faults", #"{"path":"/token","effect":"\#(effect)","count":null}"#).status == 200)
    #expect(practice.idp.hasFaults)
  }

  @Test(arguments: [
    ("faults", #"{"path":"/token","effect":"explode"}"#), ("faults", #"{"effect":"answer"}"#), ("faults", "not json"),
    ("options", #"{"rotation":"sometimes"}"#), ("options", #"{"favouriteColour":"blue"}"#),
    ("options", #"{"accessTokenLifetimeSeconds":"long"}"#), ("options", #"{"refreshInSeconds":"soon"}"#),
    ("users", #"{"user":"nobody"}"#), ("keys", #"{"algorithm":"HS256"}"#), ("sign-in", #"{"user":"nobody"}"#),
    ("device", #"{"user_code":"XXXX-XXXX","user":"alice"}"#), ("revoke", "{}"),
  ])
  func mistakeInAFaultScript_isReported(command: String, body: String) {
    let answer = Practice().control(command, body)
    #expect(answer.status == 400)
    #expect(answer["problem"] != nil)
  }

  @Test func formPostFromAWebPage_isRefused() {
    let practice = Practice()
    let answer = practice.post("/practice/faults", ["path": "/token"])
    #expect(answer.status == 415)
    #expect(practice.control("nonsense", "{}").status == 404)
  }

  @Test func options_changeWhileTheProviderRuns() throws {
    let practice = Practice()
    let body = #"{"rotation":"grace","graceSeconds":9,"accessTokenLifetimeSeconds":30,"refreshInSeconds":15}"#
    #expect(practice.control("options", body).status == 200)
    #expect(practice.idp.options.rotation == .grace(seconds: 9))
    #expect(practice.idp.options.accessTokenLifetimeSeconds == 30)
    #expect(practice.idp.options.refreshInSeconds == 15)
    #expect(practice.control("options", #"{"refreshInSeconds":null,"autoApprove":"bob"}"#).status == 200)
    #expect(practice.idp.options.refreshInSeconds == nil)
    #expect(practice.idp.options.autoApprove == "bob")
    #expect(practice.control("reset", "{}").status == 200)
    #expect(practice.idp.options.rotation == .strict)
  }

  @Test func signInOfEverybody_signsInEveryPerson() {
    let practice = Practice()
    let all = practice.control("sign-in", #"{"everybody":true}"#).json?["sign_ins"]?.arrayValue ?? []
    #expect(all.count == 4)
    for tokens in all { #expect(practice.refresh(tokens["refresh_token"]?.stringValue).status == 200) }
    let grants = practice.control("grants", "", method: "GET").json?["grants"]?.arrayValue ?? []
    #expect(
      Set(grants.compactMap { $0["user"]?.stringValue }) == [
        "alice@acme", "alice@globex", "bob@globex", "carol@acme",
      ])
  }

  @Test func controlAPI_signsInRevokesAndReadsTheLog() throws {
    let practice = Practice()
    let tokens = practice.control("sign-in", #"{"user":"alice","scope":"openid mail"}"#)
    #expect(tokens["scope"] == "openid mail")
    #expect(practice.refresh(tokens["refresh_token"]).status == 200)
    #expect(practice.control("users", #"{"user":"alice","roles":["auditor"]}"#).status == 200)
    #expect(practice.control("revoke", #"{"user":"alice"}"#).json?["ended"] == 1)
    #expect(practice.refresh(tokens["refresh_token"]).error == "invalid_grant")

    let log = practice.control("requests", "", method: "GET")
    #expect(log.json?["counts"]?["/token"] == 2)
    #expect(log.json?["requests"]?.arrayValue?.count == 2)
    #expect(!log.text.contains(tokens["refresh_token"] ?? "?"))
    let grants = practice.control("grants", "", method: "GET").json?["grants"]?.arrayValue
    #expect(grants?.first?["user"] == "alice@acme")
    #expect(grants?.first?["ended"] == "administrator")
  }

  @Test func reset_forgetsTokensFaultsAndLog() throws {
    let practice = Practice()
    let tokens = try practice.idp.signIn(user: "alice")
    try practice.idp.setUser("bob", disabled: true)
    practice.idp.enqueueFault("/jwks", .status(500))
    _ = practice.get("/userinfo")
    practice.idp.reset()
    #expect(!practice.idp.isActive(refreshToken: tokens.refreshToken ?? ""))
    #expect(practice.idp.requests().isEmpty)
    #expect(!practice.idp.hasFaults)
    #expect(practice.idp.options.users.allSatisfy { !$0.isDisabled })
  }

  @Test func practiceFile_namesPeopleAndClients() throws {
    let file = try PracticeFile(
      data: Data(
        """
        {"users":[{"name":"dora","tenant":"initech","password":"pw","roles":["technician"],"disabled":false}],
         "clients":[{"client_id":"my-app","client_secret":"s","token_endpoint_auth_method":"client_secret_post",
                     "redirect_uris":["com.example:/cb"],"scope":"openid mail"}]}
        """.utf8
      )
    )
    var options = PracticeOptions()
    file.apply(to: &options)
    #expect(options.users.map(\.name) == ["dora"])
    #expect(options.users[0].subject == "dora-initech")
    #expect(options.users[0].displayName == "Dora")
    #expect(options.clients[0].redirectURIs == ["com.example:/cb"])
    #expect(options.clients[0].authenticationMethods == [.post])
    #expect(options.clients[0].scopes == ["openid", "mail"])

    let onlyUsers = try PracticeFile(data: Data(#"{"users":[{"name":"dora"}]}"#.utf8))
    var others = PracticeOptions()
    onlyUsers.apply(to: &others)
    #expect(others.clients == .builtIn)
    #expect(throws: (any Error).self) { try PracticeFile(data: Data(#"{"users":[{"tenant":"x"}]}"#.utf8)) }
  }
}
