import AgentCore
import Testing

@Suite struct AuthenticationChallengeTests {
  private struct Challenge: Equatable {
    let scheme: String
    let parameters: [String: String]
  }

  private func read(_ values: String...) -> [Challenge] {
    AuthenticationChallenge.all(in: values).map { Challenge(scheme: $0.scheme, parameters: $0.parameters) }
  }

  private func challenge(_ scheme: String, _ parameters: [String: String] = [:]) -> Challenge {
    Challenge(scheme: scheme, parameters: parameters)
  }

  @Test func parametersBelongToTheirScheme() {
    #expect(
      read(#"Basic realm="a", charset="UTF-8", Bearer error=invalid_token , scope="x y""#) == [
        challenge("basic", ["realm": "a", "charset": "UTF-8"]),
        challenge("bearer", ["error": "invalid_token", "scope": "x y"]),
      ])
  }

  @Test func quotedText_mayHaveCommasEscapesAndEqualsSigns() {
    #expect(
      read(#"Bearer realm="a, Basic b=\"c\\", error = "e""#) == [
        challenge("bearer", ["realm": #"a, Basic b="c\"#, "error": "e"])
      ])
  }

  @Test func challengesWithoutParameters_andWithToken68_areRead() {
    #expect(
      read("Negotiate, Bearer", "NTLM TlRMTVNTUAAC==, DPoP algs=ES256") == [
        challenge("negotiate"), challenge("bearer"), challenge("ntlm"), challenge("dpop", ["algs": "ES256"]),
      ])
  }

  @Test func firstOfRepeatedParametersCounts() {
    #expect(read("Bearer error=one, ERROR=two") == [challenge("bearer", ["error": "one"])])
  }

  @Test(arguments: ["", " , ,", "=", "\"Bearer\"", "{}", "error=x"])
  func textThatIsNoChallenge_isIgnored(value: String) {
    #expect(!read(value).contains { !$0.parameters.isEmpty })
  }

  @Test func textAfterAViolationOfTheSyntax_isLeftOut() {
    #expect(read(#"Bearer realm="a" error="insufficient_scope""#) == [challenge("bearer", ["realm": "a"])])
    #expect(read(#"Bearer realm="open, error=insufficient_scope"#) == [challenge("bearer")])
  }

  @Test func cutChallenge_demandsNothing() {
    let whole = #"Bearer realm="a\"b", error="insufficient_scope", Basic dGVzdA==, DPoP algs="ES256""#
    for length in 0...whole.count {
      let cut = String(whole.prefix(length))
      let demands = InteractionDemand(AuthenticationChallenge.all(in: [cut])) != nil
      #expect(demands == cut.contains(#"insufficient_scope""#))
    }
  }
}

@Suite struct InteractionDemandTests {
  private func demand(_ values: String...) -> InteractionDemand? {
    InteractionDemand(AuthenticationChallenge.all(in: values))
  }

  @Test func stepUp_namesAcrValuesAndMaxAge() {
    let asked = demand(
      #"Bearer error="insufficient_user_authentication", acr_values="urn:gold urn:silver", max_age="300""#)
    #expect(asked?.acrValues == ["urn:gold", "urn:silver"])
    #expect(asked?.maxAgeSeconds == 300)
    #expect(asked?.claims == nil && asked?.scopes == [])
  }

  @Test func missingScope_namesTheScopes() {
    #expect(demand(#"DPoP error="insufficient_scope", scope="read write""#)?.scopes == ["read", "write"])
    #expect(demand(#"Bearer error="insufficient_scope""#)?.scopes == [])
  }

  @Test func claimsChallenge_namesTheClaims() {
    #expect(demand(#"Bearer error="insufficient_claims", claims="eyJ4Ijp7fX0=""#)?.claims == "eyJ4Ijp7fX0=")
  }

  @Test(arguments: [
    "Bearer", #"Bearer error="invalid_token""#, #"Basic error="insufficient_scope""#,
    #"Bearer error_description="insufficient_scope""#, #"Bearer realm="error=\"insufficient_scope\"""#,
  ])
  func anyOtherChallenge_demandsNothing(value: String) {
    #expect(demand(value) == nil)
  }

  @Test func demand_isFoundAmongOtherChallenges() {
    #expect(demand("Basic realm=x", #"Negotiate, Bearer error="insufficient_scope", scope=a"#)?.scopes == ["a"])
  }

  @Test func toldChallenge_demandsAsTheServersOwn_butForMissingScopes() {
    for challenge in [
      #"Bearer error="insufficient_user_authentication", acr_values="gold", max_age="5", scope="write""#,
      #"DPoP error="insufficient_claims", claims="eyJ4Ijp7fX0=""#, #"Bearer error="invalid_token""#,
      #"Basic error="insufficient_user_authentication""#,
    ] {
      #expect(InteractionDemand(told: challenge) == demand(challenge))
    }
    #expect(InteractionDemand(told: #"Bearer error="insufficient_scope", scope="write""#) == nil)
    let both = #"Bearer error="insufficient_scope", DPoP error="insufficient_claims", claims="x""#
    #expect(InteractionDemand(told: both)?.claims == "x")
  }

  @Test func valuesBeyondTheContract_areLeftOut() {
    for age in ["-1", "1.5", "soon", "9007199254740992"] {
      let asked = demand(#"Bearer error="insufficient_user_authentication", max_age="\#(age)""#)
      #expect(asked != nil && asked?.maxAgeSeconds == nil)
    }
    let many = (0..<200).map { "s\($0)" }.joined(separator: " ")
    let long = String(repeating: "x", count: 20_000)
    let asked = demand(
      #"Bearer error="insufficient_scope", scope="\#(many)", claims="\#(long)", acr_values="\#(long)""#)
    #expect(asked?.scopes.count == 128 && asked?.claims == nil && asked?.acrValues == [])
  }
}
