import LoopbackHTTP
import Testing

import PracticeProvider

@Suite struct RevocationTests {
  private func revoke(_ practice: Practice, _ token: String?, client: String = "lanyard-demo") -> HTTPResponse {
    practice.post("/revoke", ["token": token ?? "", "client_id": client, "token_type_hint": "refresh_token"])
  }

  @Test func revokedRefreshToken_endsItsAccessTokens() throws {
    let practice = Practice()
    let tokens = try practice.idp.signIn(user: "alice")
    let answer = revoke(practice, tokens.refreshToken)
    #expect(answer.status == 200)
    #expect(answer.body.isEmpty)
    #expect(practice.refresh(tokens.refreshToken).error == "invalid_grant")
    #expect(practice.get("/protected", token: tokens.accessToken).status == 401)
    #expect(practice.idp.endOfGrant(tokens.grant) == "revoked")
  }

  @Test func revokedAccessToken_leavesTheRefreshToken() throws {
    let practice = Practice()
    let tokens = try practice.idp.signIn(user: "alice")
    #expect(revoke(practice, tokens.accessToken).status == 200)
    #expect(practice.get("/protected", token: tokens.accessToken).status == 401)
    #expect(practice.refresh(tokens.refreshToken).status == 200)
  }

  @Test func unknownToken_isRevokedWithSuccess() {
    #expect(revoke(Practice(), "never-issued").status == 200)
  }

  @Test(arguments: [(RevocationReach.token, true, true), (.family, false, true), (.grant, false, false)])
  func revocation_reachesAsFarAsConfigured(reach: RevocationReach, accessLives: Bool, laterLives: Bool) throws {
    let practice = Practice { $0.revocationReach = reach }
    let first = try practice.idp.signIn(user: "alice")
    let later = try practice.idp.signIn(user: "alice")
    let others = try practice.idp.signIn(user: "bob")
    _ = revoke(practice, first.refreshToken)
    #expect(!practice.idp.isActive(refreshToken: first.refreshToken ?? ""))
    #expect(practice.idp.isActive(accessToken: first.accessToken) == accessLives)
    #expect(practice.idp.isActive(refreshToken: later.refreshToken ?? "") == laterLives)
    #expect(practice.idp.isActive(refreshToken: others.refreshToken ?? ""))
  }

  @Test func revokedReplacedToken_endsItsFamily() throws {
    let practice = Practice()
    let tokens = try practice.idp.signIn(user: "alice")
    let successor = practice.refresh(tokens.refreshToken)["refresh_token"]
    _ = revoke(practice, tokens.refreshToken)
    #expect(practice.refresh(successor).error == "invalid_grant")
  }

  @Test func tokenOfAnotherClient_isNotRevoked() throws {
    let practice = Practice()
    let tokens = try practice.idp.signIn(user: "alice", client: "confidential")
    #expect(revoke(practice, tokens.refreshToken).error == "invalid_grant")
    #expect(practice.idp.isActive(refreshToken: tokens.refreshToken ?? ""))
  }

  @Test func revocationByAPublicClient_canBeRefused() throws {
    let practice = Practice { $0.publicClientsMayRevoke = false }
    let tokens = try practice.idp.signIn(user: "alice")
    #expect(revoke(practice, tokens.refreshToken).status == 401)
    #expect(practice.idp.isActive(refreshToken: tokens.refreshToken ?? ""))
  }

  @Test func introspection_reportsActiveTokens() throws {
    let practice = Practice()
    let tokens = try practice.idp.signIn(user: "bob", scopes: ["openid", "mail"])
    let ask = { (token: String?) in
      practice.post(
        "/introspect",
        ["token": token ?? "", "client_id": "confidential", "client_secret": "practice-secret"]
      ).json
    }
    let access = try #require(ask(tokens.accessToken))
    #expect(access["active"] == true)
    #expect(access["sub"] == "bob-globex")
    #expect(access["scope"] == "openid mail")
    #expect(access["exp"] == 1_893_456_300)
    #expect(ask(tokens.refreshToken)?["active"] == true)
    practice.advance(seconds: 300)
    #expect(ask(tokens.accessToken) == ["active": false])
    #expect(ask("never-issued") == ["active": false])
  }

  @Test func introspectionByAPublicClient_coversItsOwnTokensOnly() throws {
    let practice = Practice()
    let own = try practice.idp.signIn(user: "alice")
    let foreign = try practice.idp.signIn(user: "alice", client: "confidential")
    let ask = { (token: String) in practice.post("/introspect", ["token": token, "client_id": "lanyard-demo"]).json }
    #expect(ask(own.accessToken)?["active"] == true)
    #expect(ask(foreign.accessToken) == ["active": false])
    #expect(practice.post("/introspect", ["token": own.accessToken]).error == "invalid_request")
  }

  @Test func administrativeRevocation_endsGrants() throws {
    let practice = Practice()
    let one = try practice.idp.signIn(user: "alice")
    let two = try practice.idp.signIn(user: "alice")
    #expect(practice.idp.revoke(grant: one.grant))
    #expect(!practice.idp.revoke(grant: one.grant))
    #expect(practice.idp.isActive(refreshToken: two.refreshToken ?? ""))
    #expect(try practice.idp.revokeAll(user: "alice") == 1)
    #expect(practice.idp.endOfGrant(two.grant) == "administrator")
  }
}
