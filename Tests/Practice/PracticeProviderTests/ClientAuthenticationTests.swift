import Foundation
import LoopbackHTTP
import Testing

import PracticeProvider

@Suite struct ClientAuthenticationTests {
  private func basic(_ id: String, _ secret: String) -> [(name: String, value: String)] {
    [("Authorization", "Basic " + Data("\(id):\(secret)".utf8).base64EncodedString())]
  }

  private func refresh(
    _ practice: Practice,
    _ token: String?,
    _ fields: KeyValuePairs<String, String>,
    headers: [(name: String, value: String)] = []
  ) -> HTTPResponse {
    let form = [(name: "grant_type", value: "refresh_token"), (name: "refresh_token", value: token ?? "")]
    return practice.answer(.postForm("/token", form + fields.map { ($0.key, $0.value) }, headers: headers))
  }

  @Test func clientSecret_isAcceptedInHeaderOrForm() throws {
    let practice = Practice()
    let tokens = try practice.idp.signIn(user: "alice", client: "confidential")
    let first = refresh(practice, tokens.refreshToken, [:], headers: basic("confidential", "practice-secret"))
    #expect(first.status == 200)
    let second = refresh(
      practice,
      first["refresh_token"],
      ["client_id": "confidential", "client_secret": "practice-secret"]
    )
    #expect(second.status == 200)
  }

  @Test func clientCredentials_areATokenOfTheClientItself() {
    let practice = Practice()
    let form: KeyValuePairs = [
      "grant_type": "client_credentials", "client_id": "confidential", "client_secret": "practice-secret",
      "scope": "mail",
    ]
    let answer = practice.post("/token", form)
    #expect(answer.status == 200)
    #expect(answer["scope"] == "mail")
    #expect(answer["refresh_token"] == nil)
    #expect(practice.get("/protected/things/7", token: answer["access_token"])["sub"] == "confidential")
    let publicly: KeyValuePairs = ["grant_type": "client_credentials", "client_id": "lanyard-demo"]
    #expect(practice.post("/token", publicly).error == "unauthorized_client")
    let more: KeyValuePairs = [
      "grant_type": "client_credentials", "client_id": "confidential", "client_secret": "practice-secret",
      "scope": "everything",
    ]
    #expect(practice.post("/token", more).error == "invalid_scope")
  }

  @Test func basicCredentials_areFormDecoded() throws {
    let practice = Practice { $0.clients = [PracticeClient(id: "my:client", secret: "a+b c%")] }
    let tokens = try practice.idp.signIn(user: "alice", client: "my:client")
    #expect(refresh(practice, tokens.refreshToken, [:], headers: basic("my%3Aclient", "a%2Bb+c%25")).status == 200)
  }

  @Test func wrongClientSecret_is401AndKeepsTheToken() throws {
    let practice = Practice()
    let tokens = try practice.idp.signIn(user: "alice", client: "confidential")
    let header = refresh(practice, tokens.refreshToken, [:], headers: basic("confidential", "wrong"))
    #expect(header.status == 401)
    #expect(header.error == "invalid_client")
    #expect(header.header("WWW-Authenticate") == "Basic realm=\"practice\"")
    let form = refresh(practice, tokens.refreshToken, ["client_id": "confidential", "client_secret": "wrong"])
    #expect(form.status == 401)
    #expect(form.header("WWW-Authenticate") == nil)
    let none = refresh(practice, tokens.refreshToken, ["client_id": "confidential"])
    #expect(none.status == 401)
    #expect(practice.idp.isActive(refreshToken: tokens.refreshToken ?? ""))
  }

  @Test func wrongClientSecret_canBeConfiguredToEndTheToken() throws {
    let practice = Practice { $0.wrongSecretBurnsRefreshToken = true }
    let tokens = try practice.idp.signIn(user: "alice", client: "confidential")
    _ = refresh(practice, tokens.refreshToken, ["client_id": "confidential", "client_secret": "wrong"])
    #expect(!practice.idp.isActive(refreshToken: tokens.refreshToken ?? ""))
  }

  @Test func secretInHeaderAndForm_isRefused() throws {
    let practice = Practice()
    let answer = refresh(
      practice,
      "x",
      ["client_id": "confidential", "client_secret": "practice-secret"],
      headers: basic("confidential", "practice-secret")
    )
    #expect(answer.error == "invalid_request")
  }

  @Test func unknownClientAndUnknownGrantType_haveDifferentErrors() {
    let practice = Practice()
    #expect(practice.post("/token", ["grant_type": "refresh_token", "client_id": "nobody"]).error == "invalid_client")
    #expect(
      practice.post("/token", ["grant_type": "password", "client_id": "lanyard-demo"]).error
        == "unsupported_grant_type"
    )
    #expect(practice.post("/token", ["client_id": "lanyard-demo"]).error == "invalid_request")
    #expect(practice.get("/token").status == 405)
  }

  @Test func duplicateTokenParameter_isRefused() {
    let practice = Practice()
    let form = [("grant_type", "refresh_token"), ("client_id", "lanyard-demo"), ("client_id", "lanyard-demo")]
    #expect(practice.answer(.postForm("/token", form.map { (name: $0.0, value: $0.1) })).error == "invalid_request")
  }
}
