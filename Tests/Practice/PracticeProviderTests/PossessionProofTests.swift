import LoopbackHTTP
import Testing

import PracticeProvider

/// Proofs of possession (RFC 9449): each rule of section 4.3 is one that the provider refuses a request by.
@Suite struct PossessionProofTests {
  private let key = SigningKey(.es256, id: "key", material: .p256([UInt8](repeating: 7, count: 32)))
  private let other = SigningKey(.es256, id: "other", material: .p256([UInt8](repeating: 9, count: 32)))

  private func jwk(_ key: SigningKey) -> PracticeJSON {
    ["kty": "EC", "crv": "P-256", "x": key.jwk["x"] ?? .null, "y": key.jwk["y"] ?? .null]
  }

  private func proof(
    _ practice: Practice, claims: [String: PracticeJSON] = [:], header: [String: PracticeJSON] = [:],
    by signer: SigningKey? = nil, id: String = "0123456789abcdef0"
  ) -> [(name: String, value: String)] {
    let all: PracticeJSON = [
      "jti": .string(id), "htm": "POST", "htu": "https://idp.test/token",
      "iat": .integer(practice.clock.milliseconds / 1000),
    ]
    let head: PracticeJSON = ["typ": "dpop+jwt", "alg": "ES256", "jwk": jwk(key)]
    let input = JWT.signingInput(header: head.changed(by: header), claims: all.changed(by: claims))
    return [("DPoP", input + "." + Base64URL.encode((signer ?? key).sign(Array(input.utf8))))]
  }

  private func redeem(_ practice: Practice, _ headers: [(name: String, value: String)]) throws -> HTTPResponse {
    practice.post(
      "/token",
      [
        "grant_type": "authorization_code", "client_id": "lanyard-demo", "code": try practice.code(),
        "redirect_uri": Practice.redirectURI, "code_verifier": Practice.verifier,
      ], headers: headers)
  }

  @Test func token_isBoundToTheKeyOfTheProof() throws {
    let practice = Practice { $0.dpop = .required }
    let answer = try redeem(practice, proof(practice))
    #expect(answer["token_type"] == "DPoP")
    let token = try #require(answer["access_token"])
    #expect(practice.get("/userinfo", token: token).status == 401, "no bearer token")
    func ask(by signer: SigningKey, _ id: String, ath: String) -> Int {
      let claims: [String: PracticeJSON] = [
        "htm": "GET", "htu": "https://idp.test/userinfo",
        "ath": .string(Base64URL.encode(Digest.sha256(ath.utf8))),
      ]
      let headers = proof(practice, claims: claims, header: ["jwk": jwk(signer)], by: signer, id: id)
      return practice.get("/userinfo", headers: [("Authorization", "DPoP \(token)")] + headers).status
    }
    #expect(ask(by: key, "resource-request-1", ath: token) == 200)
    #expect(ask(by: key, "resource-request-1", ath: token) == 401, "used before")
    #expect(ask(by: key, "resource-request-2", ath: "other") == 401)
    #expect(ask(by: other, "resource-request-3", ath: token) == 401)
  }

  @Test(
    arguments: [
      (["htm": "GET"], [:]), (["htu": "https://idp.test/other"], [:]), (["htu": "https://idp.test/token?x"], [:]),
      (["iat": 1_893_456_061], [:]), (["iat": 1_893_455_939], [:]), (["iat": nil], [:]), (["jti": nil], [:]),
      (["jti": "short"], [:]), ([:], ["typ": "JWT"]), ([:], ["alg": "RS256"]), ([:], ["alg": "none"]),
      ([:], ["jwk": nil]),
    ] as [([String: PracticeJSON], [String: PracticeJSON])])
  func wrongProof_isRefused(claims: [String: PracticeJSON], header: [String: PracticeJSON]) throws {
    let practice = Practice { $0.dpop = .required }
    let answer = try redeem(practice, proof(practice, claims: claims, header: header))
    #expect(answer.status == 400 && answer["error"] == "invalid_dpop_proof")
  }

  @Test func missingForeignOrDoubleProof_isRefused() throws {
    let practice = Practice { $0.dpop = .required }
    #expect(try redeem(practice, [])["error"] == "invalid_dpop_proof")
    #expect(try redeem(practice, proof(practice, by: other))["error"] == "invalid_dpop_proof")
    #expect(try redeem(practice, [("DPoP", "x")])["error"] == "invalid_dpop_proof")
    #expect(try redeem(practice, proof(practice) + proof(practice))["error"] == "invalid_dpop_proof")
    practice.idp.configure { $0.dpop = .offered }
    #expect(try redeem(practice, [])["token_type"] == "Bearer")
  }

  @Test func nonce_isDemandedAndWorksOnce() throws {
    let practice = Practice { $0.dpop = .nonce }
    let refused = try redeem(practice, proof(practice))
    #expect(refused.status == 400 && refused["error"] == "use_dpop_nonce")
    let nonce = try #require(refused.header("DPoP-Nonce"))
    let answer = try redeem(practice, proof(practice, claims: ["nonce": .string(nonce)]))
    #expect(answer["token_type"] == "DPoP")
    #expect(answer.header("DPoP-Nonce") != nil)
    let again = try redeem(practice, proof(practice, claims: ["nonce": .string(nonce)], id: "another-identifier"))
    #expect(again["error"] == "use_dpop_nonce")
  }
}
