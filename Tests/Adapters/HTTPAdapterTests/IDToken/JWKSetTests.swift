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

  /// The key of `x` = 1 and `y` = 2, at full length.
  static func point(_ curve: EllipticCurve) -> PublicKey {
    let zeros = [UInt8](repeating: 0, count: curve.coordinateBytes - 1)
    return .ellipticCurve(curve: curve, x: zeros + [1], y: zeros + [2])
  }

  @Test func keySet_readsEverySupportedKeyType() throws {
    let set = try Self.keys(
      "{\(Self.rsa),\"kid\":\"a\",\"use\":\"sig\",\"alg\":\"RS512\",\"x5c\":[\"x\"],\"key_ops\":[\"verify\"]}",
      "{\(Self.p256)}", #"{"kty":"EC","crv":"P-384","x":"AQ","y":"Ag","kid":"c"}"#,
      #"{"kty":"OKP","crv":"Ed25519","x":"Aw","kid":"d"}"#)
    #expect(
      set.keys.map(\.publicKey) == [
        .rsa(modulus: [1, 2, 3], exponent: [1, 0, 1]), Self.point(.p256), Self.point(.p384), .ed25519(x: [3]),
      ])
    #expect(set.keys.map(\.keyID) == ["a", nil, "c", "d"])
    #expect(set.keys.map(\.algorithm) == [.rs512, nil, nil, nil])
  }

  @Test(arguments: [
    #"{"kty":"oct","k":"AQ"}"#, #"{"kty":"EC","crv":"P-192","x":"AQ","y":"Ag"}"#,
    #"{"kty":"EC","crv":"P-256","x":"AQ"}"#, #"{"kty":"OKP","crv":"X25519","x":"Aw"}"#, #"{"kty":"RSA","n":"AQID"}"#,
    #"{"kty":"RSA","n":"A=Q=","e":"AQAB"}"#, #"{"kty":"RSA","n":1,"e":"AQAB"}"#, #"{"kty":"RSA","n":"A","e":"AQAB"}"#,
    "{\(rsa),\"use\":\"enc\"}", "{\(rsa),\"alg\":\"RSA-OAEP\"}", "{\(rsa),\"alg\":\"HS256\"}",
    "{\(rsa),\"key_ops\":[\"sign\"]}", "{\(rsa),\"key_ops\":\"encrypt\"}", "{\(rsa),\"use\":\"tls\"}", "{}", "7",
    "null", "[]", #"{"kty":"AKP","alg":"ML-DSA-44","pub":"AQ"}"#,
    "{\(rsa),\"n\":\"BA\"}", #"{"kty":"RSA","n":"","e":"AQAB"}"#, #"{"kty":"RSA","n":"AQID","e":"AAA"}"#,
    #"{"kty":null,"n":"AQID","e":"AQAB"}"#,
    #"{"kty":"EC","crv":"P-256","x":"\#(String(repeating: "_", count: 44))","y":"Ag"}"#,
  ])
  func keySet_skipsUnusableKeys(key: String) throws {
    #expect(try Self.keys(key, "{\(Self.p256)}").keys.count == 1)
  }

  @Test(arguments: [
    "{\(rsa),\"kid\":null,\"use\":null,\"alg\":null,\"key_ops\":null,\"x5c\":null}",
    #"{"kty":"RSA","n":"AAECAw","e":"AAEAAQ"}"#, #"{"kty":"RSA","n":"AQID","e":"AQAB=="}"#,
    #"{"kty":"RSA","n":"AQID","e":"AQAB","crv":null}"#,
    #"{"kty":"RSA","n":"\u0041QID","e":"AQAB"}"#, #"{"kty":"RSA","n":"AQ\r\n ID","e":"AQAB\n"}"#,
    "{\(rsa),\"use\":\"\",\"alg\":\"\",\"key_ops\":[]}", "{\(rsa),\"use\":7,\"alg\":7,\"key_ops\":7,\"kid\":7}",
    "{\(rsa),\"use\":\"SIG\",\"key_ops\":\"verify\"}", "{\(rsa),\"key_ops\":[null,\"sign\",\"verify\"]}",
  ])
  func keySet_readsKeysAsServersWriteThem(key: String) throws {
    let keys = try Self.keys(key).keys
    #expect(keys.map(\.publicKey) == [.rsa(modulus: [1, 2, 3], exponent: [1, 0, 1])])
    #expect(keys.map(\.keyID) == [nil] && keys.map(\.algorithm) == [nil])
  }

  @Test func keySet_readsTheOtherAlphabet() throws {
    let key = try Self.keys(#"{"kty":"RSA","n":"+/+/","e":"AQAB"}"#).keys.first?.publicKey
    #expect(key == .rsa(modulus: [0xFB, 0xFF, 0xBF], exponent: [1, 0, 1]))
  }

  @Test(arguments: EllipticCurve.allCases)
  func coordinates_withoutLeadingZerosOrWithOneMore_areTheSameKey(curve: EllipticCurve) throws {
    let short = try Self.keys(#"{"kty":"EC","crv":"\#(curve.rawValue)","x":"AQ","y":"Ag"}"#)
    let long = [UInt8](repeating: 0, count: curve.coordinateBytes) + [1]
    let signed = try Self.keys(
      #"{"kty":"EC","crv":"\#(curve.rawValue)","x":"\#(Base64URL.encode(long))","y":"AAI"}"#)
    #expect(short.keys.map(\.publicKey) == [Self.point(curve)])
    #expect(signed.keys == short.keys)
  }

  @Test func algorithmThatTheMetadataDoesNotList_needsAKeyThatNamesIt() throws {
    let set = try Self.keys(
      "{\(Self.rsa),\"kid\":\"bare\"}", "{\(Self.rsa),\"kid\":\"named\",\"alg\":\"RS512\"}")
    func candidates(_ header: String, _ announced: [String]) throws -> Int {
      try set.candidates(for: parse(unsignedToken(header)).get(), announced: announced).count
    }
    #expect(try candidates(#"{"alg":"RS512","kid":"bare"}"#, []) == 1, "the metadata says nothing")
    #expect(try candidates(#"{"alg":"RS512","kid":"bare"}"#, ["RS256", "RS512"]) == 1)
    #expect(try candidates(#"{"alg":"RS512","kid":"named"}"#, ["RS256"]) == 1, "the key set says it")
    for announced in [["RS256"], ["none"], ["rs512"], ["HS256", "PS512"]] {
      #expect(throws: IDTokenFailure.algorithmNotAllowed) {
        try candidates(#"{"alg":"RS512","kid":"bare"}"#, announced)
      }
    }
    #expect(throws: IDTokenFailure.keyNotFound) { try candidates(#"{"alg":"RS512","kid":"z"}"#, ["RS256"]) }
  }

  @Test(arguments: ["", "[]", "{}", #"{"keys":{}}"#, #"{"keys":[}"#, #"{"keys":[],"keys":[]}"#, "<html>"])
  func malformedKeySet_isRefused(text: String) {
    #expect(throws: IDTokenFailure.keySetMalformed) { try Self.set(text) }
  }

  @Test func keySet_isBoundedInCandidatesAndBytes() throws {
    let many = try Self.keys(String(repeating: "{\(Self.p256)},", count: 200) + "{\(Self.p256),\"kid\":\"last\"}")
    func candidates(_ header: String) throws -> Int {
      try many.candidates(for: parse(unsignedToken(header)).get()).count
    }
    #expect(try candidates(#"{"alg":"ES256","kid":"last"}"#) == 1, "many keys hide no other")
    #expect(try candidates(#"{"alg":"ES256"}"#) == JWKSet.maximumCandidates)
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
