import AgentCore
import AgentModel
import Testing

@Suite struct JWKSetTests {
  static func set(_ text: String) throws(IDTokenFailure) -> JWKSet {
    var text = text
    let result = text.withUTF8 { bytes in
      Result { () throws(IDTokenFailure) in try JWKSet(parsing: UnsafeRawBufferPointer(bytes)) }
    }
    return try result.get()
  }

  static func keys(_ keys: String...) throws(IDTokenFailure) -> JWKSet {
    try set(#"{"keys":["# + keys.joined(separator: ",") + "]}")
  }

  static let rsa = #""kty":"RSA","n":"AQID","e":"AQAB""#
  static let p256 = #""kty":"EC","crv":"P-256","x":"AQ","y":"Ag""#

  @Test func keySet_readsEverySupportedKeyType() throws {
    let set = try Self.keys(
      "{\(Self.rsa),\"kid\":\"a\",\"use\":\"sig\",\"alg\":\"RS512\",\"x5c\":[\"x\"],\"key_ops\":[\"verify\"]}",
      "{\(Self.p256)}", #"{"kty":"EC","crv":"P-384","x":"AQ","y":"Ag","kid":"c"}"#,
      #"{"kty":"OKP","crv":"Ed25519","x":"Aw","kid":"d"}"#)
    #expect(
      set.keys.map(\.publicKey) == [
        .rsa(modulus: [1, 2, 3], exponent: [1, 0, 1]), .ellipticCurve(curve: "P-256", x: [1], y: [2]),
        .ellipticCurve(curve: "P-384", x: [1], y: [2]), .ed25519(x: [3]),
      ])
    #expect(set.keys.map(\.keyID) == ["a", nil, "c", "d"])
    #expect(set.keys.map(\.algorithm) == [.rs512, nil, nil, nil])
  }

  @Test(arguments: [
    #"{"kty":"oct","k":"AQ"}"#, #"{"kty":"EC","crv":"secp256k1","x":"AQ","y":"Ag"}"#,
    #"{"kty":"EC","crv":"P-256","x":"AQ"}"#, #"{"kty":"OKP","crv":"X25519","x":"Aw"}"#, #"{"kty":"RSA","n":"AQID"}"#,
    #"{"kty":"RSA","n":"AQ==","e":"AQAB"}"#, #"{"kty":"RSA","n":1,"e":"AQAB"}"#, #"{"kty":"RSA","n":"A","e":"AQAB"}"#,
    "{\(rsa),\"use\":\"enc\"}", "{\(rsa),\"alg\":\"RSA-OAEP\"}", "{\(rsa),\"alg\":\"HS256\"}",
    "{\(rsa),\"key_ops\":[\"sign\"]}", "{}", "7", "null", "[]",
  ])
  func keySet_skipsUnusableKeys(key: String) throws {
    #expect(try Self.keys(key, "{\(Self.p256)}").keys.count == 1)
  }

  @Test(arguments: ["", "[]", "{}", #"{"keys":{}}"#, #"{"keys":[}"#, #"{"keys":[],"keys":[]}"#, "<html>"])
  func malformedKeySet_isRefused(text: String) {
    #expect(throws: IDTokenFailure.keySetMalformed) { try Self.set(text) }
  }

  @Test func keySet_isBoundedInKeysAndBytes() throws {
    #expect(try Self.keys(String(repeating: "{\(Self.p256)},", count: 200) + "{\(Self.p256)}").keys.count == 64)
    #expect(throws: IDTokenFailure.keySetMalformed) {
      try Self.set(#"{"keys":[]}"# + String(repeating: " ", count: JWKSet.maximumBytes))
    }
  }

  @Test func keySet_findsCandidatesByKeyIDAndAlgorithm() throws {
    let set = try Self.keys(
      "{\(Self.rsa),\"kid\":\"a\"}", #"{"kty":"RSA","n":"BA","e":"AQAB","kid":"b","alg":"RS256"}"#,
      "{\(Self.p256),\"kid\":\"a\"}", #"{"kty":"OKP","crv":"Ed25519","x":"Aw"}"#)
    func candidates(_ header: String) throws -> [PublicKey] {
      try set.candidates(for: parse(unsignedToken(header)).get())
    }
    #expect(try candidates(#"{"alg":"RS256","kid":"a"}"#) == [set.keys[0].publicKey])
    #expect(try candidates(#"{"alg":"ES256","kid":"a"}"#) == [set.keys[2].publicKey])
    #expect(try candidates(#"{"alg":"RS256","kid":"b"}"#) == [set.keys[1].publicKey])
    #expect(try candidates(#"{"alg":"RS256"}"#) == [set.keys[0].publicKey, set.keys[1].publicKey])
    #expect(try candidates(#"{"alg":"RS384"}"#) == [set.keys[0].publicKey], "the other is for RS256 only")
    #expect(try candidates(#"{"alg":"EdDSA","kid":"z"}"#) == [set.keys[3].publicKey], "it has no id, the set is small")
    for header in [
      #"{"alg":"RS256","kid":"z"}"#, #"{"alg":"RS384","kid":"b"}"#, #"{"alg":"ES384","kid":"a"}"#, #"{"alg":"ES384"}"#,
    ] {
      #expect(throws: IDTokenFailure.keyNotFound) { try candidates(header) }
    }
  }
}
