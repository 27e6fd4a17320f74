import LoopbackHTTP
import Testing

import PracticeProvider

@Suite struct DeviceTests {
  private func begin(_ practice: Practice) -> HTTPResponse {
    practice.post("/device_authorization", ["client_id": "lanyard-demo", "scope": "openid mail"])
  }

  private func poll(_ practice: Practice, _ started: HTTPResponse) -> HTTPResponse {
    practice.post(
      "/token",
      [
        "grant_type": "urn:ietf:params:oauth:grant-type:device_code", "client_id": "lanyard-demo",
        "device_code": started["device_code"] ?? "",
      ]
    )
  }

  @Test func deviceApprovedOnThePage_getsTokens() throws {
    let practice = Practice()
    let started = begin(practice)
    let userCode = try #require(started["user_code"])
    #expect(userCode.wholeMatch(of: /[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}/) != nil)
    #expect(started["verification_uri"] == "https://idp.test/device")
    #expect(started.json?["interval"] == 5)
    #expect(poll(practice, started).error == "authorization_pending")

    let page = practice.get(try #require(started["verification_uri_complete"]))
    #expect(page.text.contains("value=\"\(userCode)\""))
    #expect(page.text.contains("shows the same code"))
    let typed = userCode.lowercased().replacing("-", with: " ")
    let done = practice.post(
      "/device",
      ["user_code": typed, "username": "carol@acme", "password": "carol", "decision": "allow"]
    )
    #expect(done.text.contains("Device connected"))

    practice.advance(seconds: 5)
    let tokens = poll(practice, started)
    #expect(tokens["scope"] == "openid mail")
    #expect(try DecodedJWT(tokens["id_token"]).claims["sub"] == "carol-acme")
    #expect(poll(practice, started).error == "invalid_grant")
  }

  @Test func fastPolling_isAnsweredWithSlowDown() {
    let practice = Practice()
    let started = begin(practice)
    #expect(poll(practice, started).error == "authorization_pending")
    practice.advance(seconds: 4)
    #expect(poll(practice, started).error == "slow_down")
    practice.advance(seconds: 9)
    #expect(poll(practice, started).error == "slow_down")
    practice.advance(seconds: 15)
    #expect(poll(practice, started).error == "authorization_pending")
  }

  @Test func deviceDeniedOnThePage_isAccessDenied() {
    let practice = Practice()
    let started = begin(practice)
    let page = practice.post("/device", ["user_code": started["user_code"] ?? "", "decision": "deny"])
    #expect(page.text.contains("Not connected"))
    #expect(poll(practice, started).error == "access_denied")
  }

  @Test func deviceCode_expires() {
    let practice = Practice()
    let started = begin(practice)
    practice.advance(seconds: 600)
    #expect(poll(practice, started).error == "expired_token")
    let page = practice.post(
      "/device",
      ["user_code": started["user_code"] ?? "", "username": "bob", "password": "bob", "decision": "allow"]
    )
    #expect(page.status == 400)
  }

  @Test func wrongPasswordOnTheDevicePage_connectsNothing() {
    let practice = Practice()
    let started = begin(practice)
    let page = practice.post(
      "/device",
      ["user_code": started["user_code"] ?? "", "username": "bob", "password": "alice", "decision": "allow"]
    )
    #expect(page.status == 401)
    #expect(poll(practice, started).error == "authorization_pending")
  }

  @Test func deviceDecidedByScript_isApprovedOrDenied() throws {
    let practice = Practice()
    let first = begin(practice)
    try practice.idp.approveDevice(userCode: first["user_code"] ?? "", as: "bob")
    #expect(poll(practice, first).status == 200)
    let second = begin(practice)
    try practice.idp.denyDevice(userCode: second["user_code"] ?? "")
    #expect(poll(practice, second).error == "access_denied")
    #expect(throws: PracticeError.self) { try practice.idp.approveDevice(userCode: "XXXX", as: "bob") }
  }

  @Test func automaticApproval_connectsADeviceOnOpeningTheLink() throws {
    let practice = Practice { $0.autoApprove = "alice" }
    let started = begin(practice)
    #expect(practice.get(started["verification_uri_complete"] ?? "").text.contains("Device connected"))
    #expect(try DecodedJWT(poll(practice, started)["id_token"]).claims["sub"] == "alice-acme")
  }
}
