import AgentCore
import AgentModel
import Testing

@Suite struct ClaimsTests {
  static func claims(_ json: String, _ names: ClaimNames = ClaimNames()) throws(IDTokenFailure) -> IDTokenClaims {
    try IDTokenClaims(parse(unsignedToken(#"{"alg":"RS256"}"#, json)).get(), names: names)
  }

  @Test func claims_areReadFromAFullIDToken() throws {
    let claims = try Self.claims(
      #"""
      {"iss":"https://idp.example","sub":"alice","aud":["lanyard","api"],"azp":"lanyard","exp":1893456600,
       "iat":1893456000.25,"nbf":1893456000,"auth_time":1893455000.9,"nonce":"n","acr":"2","amr":["pwd","otp"],
       "sid":"s","at_hash":"h","tid":"acme","name":"Alice Ä","preferred_username":"alice","email":"alice@acme.example",
       "realm_access":{"roles":["technician","lead"]},"phone_number":"dropped"}
      """#, ClaimNames(tenant: "tid", roles: "realm_access.roles"))
    #expect(claims.issuer == "https://idp.example" && claims.subject == "alice")
    #expect(claims.audiences == ["lanyard", "api"] && claims.authorizedParty == "lanyard")
    #expect(claims.expiresAt?.rfc3339 == "2030-01-01T00:10:00.000Z")
    #expect(claims.issuedAt?.rfc3339 == "2030-01-01T00:00:00.250Z")
    #expect(claims.notBefore?.rfc3339 == "2030-01-01T00:00:00.000Z")
    #expect(claims.authTime?.rfc3339 == "2029-12-31T23:43:20.900Z")
    #expect(claims.nonce == "n" && claims.authenticationContext == "2")
    #expect(claims.authenticationMethods == ["pwd", "otp"] && claims.sessionID == "s" && claims.accessTokenHash == "h")
    #expect(claims.tenant == "acme" && claims.name == "Alice Ä" && claims.preferredUsername == "alice")
    #expect(claims.email == "alice@acme.example" && claims.roles == ["technician", "lead"])
  }

  @Test func claimsOfVaryingTypes_areReadLeniently() throws {
    let claims = try Self.claims(
      #"{"aud":"lanyard","auth_time":0,"nonce":null,"amr":"pwd","acr":1,"name":7,"exp":1.8934566E9}"#)
    #expect(claims.audiences == ["lanyard"] && claims.authTime == nil && claims.nonce == nil)
    #expect(claims.authenticationMethods == ["pwd"] && claims.authenticationContext == nil && claims.name == nil)
    #expect(claims.expiresAt?.rfc3339 == "2030-01-01T00:10:00.000Z")
    #expect(try Self.claims("{}").audiences.isEmpty)
  }

  @Test(arguments: [
    #"{"iss":1}"#, #"{"sub":["a"]}"#, #"{"sub":1}"#, #"{"aud":{}}"#, #"{"aud":["a",1]}"#, #"{"azp":["a"]}"#,
    #"{"exp":"1893456600"}"#, #"{"exp":-1}"#, #"{"exp":1e300}"#, #"{"exp":253402300800}"#, #"{"iat":true}"#,
    #"{"nbf":"x"}"#, #"{"nonce":1}"#, #"{"sub":"a","sub":"b"}"#, #"{"a":1,"a":2}"#,
    "[]", "1", "", #"{"sub":"\ud800"}"#, #"{"aud":["a","\udc00"]}"#, #"{"iss":"https://idp.example/\ud800"}"#,
  ])
  func securityRelevantClaimOfAnotherType_isMalformed(json: String) {
    #expect(throws: IDTokenFailure.malformed) { try Self.claims(json) }
  }

  /// What no reader needs is not judged.
  @Test(arguments: [
    #"{"sub":"alice","address":{"city":1,"city":2}}"#, #"{"sub":"alice","name":"Alice \ud83d"}"#,
    "{\"sub\":\"alice\",\"bio\":\"two\nlines\"}", #"{"sub":"alice","azp":"","at_hash":"","aud":["a",null]}"#,
    "\u{FEFF}{\"sub\":\"alice\"}",
  ])
  func faultInWhatIsNotUsed_spoilsNoClaim(json: String) throws {
    let claims = try Self.claims(json)
    #expect(claims.subject == "alice")
    #expect(claims.authorizedParty == nil && claims.nonce == nil && claims.accessTokenHash == nil)
  }

  @Test func ambiguousRoles_areRefused() {
    #expect(throws: IDTokenFailure.malformed) {
      try Self.claims(#"{"realm_access":{"roles":["a"],"roles":["b"]}}"#, ClaimNames(roles: "realm_access.roles"))
    }
    #expect(throws: IDTokenFailure.malformed) {
      try Self.claims(#"{"org":"acme\ud800"}"#, ClaimNames(tenant: "org"))
    }
  }

  @Test(arguments: [#""x""#, "-1", "true", "[5]", "1e300", "null", "0"])
  func authTimeThatIsNoTime_isAsAbsent(value: String) throws {
    #expect(try Self.claims(#"{"auth_time":\#(value)}"#).authTime == nil)
  }

  @Test(arguments: [
    (#"{"roles":["a","b"]}"#, "roles", ["a", "b"]), (#"{"roles":"a b"}"#, "roles", ["a b"]),
    (#"{"roles":{"b":{"1":"x"},"a":{}}}"#, "roles", ["b", "a"]), (#"{"roles":[]}"#, "roles", []),
    (#"{"roles":["a",1,null]}"#, "roles", ["a"]), (#"{"roles":7}"#, "roles", nil), ("{}", "roles", nil),
    (#"{"a":{"b":{"c":["x"]}}}"#, "a.b.c", ["x"]), (#"{"a":{"b":["x"]}}"#, "a.b.c", nil), (#"{"a":["x"]}"#, "a.b", nil),
    (#"{"https://acme.example/roles":["x"]}"#, "https://acme.example/roles", ["x"]),
    (#"{"https://acme.example":{"roles":["x"]}}"#, "https://acme.example.roles", ["x"]),
    (#"{"a.b":["x"],"a":{"b":["y"]}}"#, "a.b", ["x"]), (#"{"":["x"]}"#, ".", nil), (#"{"":{"":["x"]}}"#, ".", ["x"]),
  ])
  func rolesClaim_isFoundByItsPath(json: String, path: String, roles: [String]?) throws {
    #expect(try Self.claims(json, ClaimNames(roles: path)).roles == roles)
  }
}
