import AgentCore
import AgentModel
import JSONRPC
import Testing

enum RightsJSON {
  static func node<Result>(_ json: String, _ body: (JSONNode) -> Result) throws -> Result {
    var bytes = Array(json.utf8)
    return try bytes.withUnsafeMutableBytes { bytes in
      var tape = JSONTape()
      try JSONScanner.scan(UnsafeRawBufferPointer(bytes), onto: &tape)
      return tape.withRoot(of: UnsafeRawBufferPointer(bytes)) { body($0) }
    }
  }

  static func document(_ json: String) throws -> EntitlementsDocument? { try node(json) { EntitlementsDocument($0) } }

  static func token(_ payload: String) -> [UInt8] {
    let parts = [#"{"alg":"RS256","typ":"at+jwt"}"#, payload, "signature"]
    return Array(parts.map { Base64URL.encode($0.utf8) }.joined(separator: ".").utf8)
  }
}

@Suite struct RightsClaimsTests {
  static let shapes: [(String, String, NameSet?)] = [
    (#"{"roles":["a","b"]}"#, "roles", ["a", "b"]),
    // Keycloak
    (#"{"realm_access":{"roles":["a"]}}"#, "realm_access.roles", ["a"]),
    (#"{"resource_access":{"my.app":{"roles":["a"]}}}"#, "resource_access.my.app.roles", ["a"]),
    // Auth0
    (#"{"https://acme.example/roles":["a"]}"#, "https://acme.example/roles", ["a"]),
    // Zitadel
    (#"{"urn:zitadel:iam:org:project:roles":{"a":{"1":"x"}}}"#, "urn:zitadel:iam:org:project:roles", ["a"]),
    // a claim that is one name, one that holds no names, one that is absent
    (#"{"roles":"a"}"#, "roles", ["a"]), (#"{"roles":["a",7,""]}"#, "roles", ["a"]), (#"{"roles":7}"#, "roles", nil),
    (#"{}"#, "roles", nil), (#"{"roles":[]}"#, "roles", []),
  ]

  @Test(arguments: shapes)
  func rolesClaim_isFoundByItsConfiguredName(json: String, claim: String, roles: NameSet?) {
    let token = RightsJSON.token(json)
    let found = token.withUnsafeBytes { RightsClaims(token: $0, rolesClaim: claim) }
    #expect(found?.roles == roles)
    #expect(found != nil)
  }

  @Test(arguments: ["opaque", "a.b", "a.b.c", "....", ""]) func textThatIsNoJWT_hasNoRightsClaims(text: String) {
    #expect(Array(text.utf8).withUnsafeBytes { RightsClaims(token: $0, rolesClaim: "roles") } == nil)
  }

  @Test func tokenWithADuplicateClaim_hasNoRightsClaims() {
    let token = RightsJSON.token(#"{"roles":["a"],"roles":["b"]}"#)
    #expect(token.withUnsafeBytes { RightsClaims(token: $0, rolesClaim: "roles") } == nil)
  }

  @Test func rolesOverTheSnapshotsBound_areLeftOut() {
    let names = (0..<300).map { "\"role\($0)\"" }.joined(separator: ",")
    let token = RightsJSON.token("{\"roles\":[\(names),\"\(String(repeating: "x", count: 257))\"]}")
    let roles = token.withUnsafeBytes { RightsClaims(token: $0, rolesClaim: "roles") }?.roles
    #expect(roles?.count == RightsUpdate.mostRoles)
    #expect(roles?.sorted().allSatisfy { $0.hasPrefix("role") } == true)
  }

  @Test(
    arguments: [
      (#"["a","b"]"#, ["a", "b"], nil), (#"[]"#, [], nil), (#"{"entitlements":["a"]}"#, ["a"], nil),
      (#"{"entitlements":["a"],"roles":["r"],"version":3}"#, ["a"], ["r"]),
    ] as [(String, NameSet, NameSet?)])
  func entitlementsDocument_isParsedInEveryKnownShape(json: String, entitlements: NameSet, roles: NameSet?)
    throws
  {
    let document = try #require(try RightsJSON.document(json))
    #expect(document.entitlements == entitlements && document.roles == roles)
  }

  @Test(arguments: [
    "{}", #""a""#, "7", "null", #"["a",7]"#, #"[""]"#, #"{"entitlements":"a"}"#, #"{"entitlements":{"a":true}}"#,
    #"{"entitlements":["a"],"roles":"r"}"#, #"{"entitlements":["a"],"sub":7}"#,
  ]) func entitlementsDocumentOfAnotherShape_isRefused(json: String) throws {
    #expect(try RightsJSON.document(json) == nil)
  }

  @Test func entitlementsDocumentOverItsBound_isRefusedWhole() throws {
    let names = (0...RightsUpdate.mostEntitlements).map { "\"e\($0)\"" }.joined(separator: ",")
    #expect(try RightsJSON.document("[\(names)]") == nil)
    #expect(try RightsJSON.document("[\"\(String(repeating: "x", count: 257))\"]") == nil)
  }
}
