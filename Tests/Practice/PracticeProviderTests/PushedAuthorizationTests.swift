import LoopbackHTTP
import Testing

import PracticeProvider

@Suite struct PushedAuthorizationTests {
  private let request: KeyValuePairs<String, String> = [
    "client_id": "lanyard-demo", "response_type": "code", "redirect_uri": "http://127.0.0.1:49152/callback",
    "scope": "openid", "state": "s", "code_challenge": "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM",
    "code_challenge_method": "S256",
  ]

  private func push(_ practice: Practice) throws -> String {
    let answer = practice.post("/par", request)
    #expect(answer.status == 201)
    #expect(answer.json?["expires_in"] == 60)
    return try #require(answer["request_uri"])
  }

  private func url(_ uri: String, client: String = "lanyard-demo") -> String {
    "https://idp.test/authorize?client_id=\(client)&request_uri=\(uri)"
  }

  @Test func pushedRequest_isUsedOnceByItsOwnClient() throws {
    let practice = Practice { $0.pushedAuthorization = .offered }
    let uri = try push(practice)
    #expect(throws: PracticeError.self) {
      try practice.idp.authorize(url: url(uri, client: "confidential"), as: "alice")
    }
    let location = try practice.idp.authorize(url: url(uri), as: "alice")
    #expect(location.hasPrefix("http://127.0.0.1:49152/callback?code="))
    #expect(location.contains("state=s"))
    #expect(throws: PracticeError.self) { try practice.idp.authorize(url: url(uri), as: "alice") }
  }

  @Test func pushedRequest_expires() throws {
    let practice = Practice { $0.pushedAuthorization = .offered }
    let uri = try push(practice)
    practice.idp.setClockOffset(milliseconds: 60_000)
    #expect(throws: PracticeError.self) { try practice.idp.authorize(url: url(uri), as: "alice") }
  }

  @Test func faultyPushedRequest_isRefusedWhenPushed() {
    let practice = Practice { $0.pushedAuthorization = .offered }
    let form = request.map { (name: $0.key, value: $0.value) }
    func pushed(_ name: String, _ value: String) -> String? {
      practice.answer(.postForm("/par", form.filter { $0.name != name } + [(name: name, value: value)])).error
    }
    #expect(pushed("redirect_uri", "https://elsewhere.example/") == "invalid_request")
    #expect(pushed("scope", "nothing") == "invalid_scope")
    #expect(pushed("request_uri", "urn:x") == "invalid_request")
    #expect(pushed("code_challenge_method", "plain") == "invalid_request")
    #expect(pushed("client_id", "confidential") == "invalid_client")
  }

  @Test func providerRequiringPushedRequests_refusesOthers() throws {
    let practice = Practice { $0.pushedAuthorization = .required }
    let query = request.map { "\($0.key)=\($0.value)" }.joined(separator: "&")
    #expect(
      try practice.idp.authorize(url: "https://idp.test/authorize?" + query, as: "alice").contains("invalid_request"))
    #expect(practice.get("/.well-known/openid-configuration").json?["require_pushed_authorization_requests"] == true)
  }

  @Test func providerWithoutPushedRequests_doesNotOfferThem() {
    let practice = Practice()
    #expect(practice.post("/par", request).status == 404)
    #expect(practice.get("/.well-known/openid-configuration").json?["pushed_authorization_request_endpoint"] == nil)
  }
}
