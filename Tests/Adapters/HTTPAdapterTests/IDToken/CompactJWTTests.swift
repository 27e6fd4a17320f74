import AgentCore
import AgentModel
import Testing

/// Parses a token, or returns the failure.
func parse(_ token: String) -> Result<CompactJWT, IDTokenFailure> {
  var token = token
  return token.withUTF8 { bytes in
    Result { () throws(IDTokenFailure) in try CompactJWT(parsing: UnsafeRawBufferPointer(bytes)) }
  }
}

/// A token with this header and these claims, and an invalid signature.
func unsignedToken(_ header: String = #"{"alg":"RS256","kid":"k1"}"#, _ claims: String = "{}") -> String {
  Base64URL.encode(header.utf8) + "." + Base64URL.encode(claims.utf8) + ".c2ln"
}

extension Result {
  var failure: Failure? {
    guard case .failure(let failure) = self else { return nil }
    return failure
  }
}

@Suite struct CompactJWTTests {
  @Test func compactJWT_isSplitIntoItsParts() throws {
    let text = unsignedToken(#"{"typ":"JWT","alg":"ES256","kid":"k\u0031","jku":"https://evil.example"}"#, #"{"a":1}"#)
    let token = try parse(text).get()
    #expect(token.algorithm == .es256 && token.keyID == "k1")
    #expect(token.payload == Array(#"{"a":1}"#.utf8) && token.signature == Array("sig".utf8))
    #expect(token.signedBytes == Array(text.utf8.dropLast(5)))
    #expect(try parse(unsignedToken(#"{"alg":"EdDSA"}"#)).get().keyID == nil)
    #expect(try parse(unsignedToken(#"{"alg":"EdDSA","kid":null,"typ":null,"crit":null}"#)).get().keyID == nil)
    #expect(try parse(unsignedToken(#"{"alg":"EdDSA","kid":7}"#)).get().keyID == nil, "no key is named")
  }

  /// The signature is over the text as it was received, padding included.
  @Test func paddedParts_areRead() throws {
    let parts = [#"{"alg":"ES256","a":1}"#, #"{"sub":"bob"}"#, "sign"].map { text -> String in
      let plain = Base64URL.encode(text.utf8)
      return plain + String(repeating: "=", count: (4 - plain.utf8.count % 4) % 4)
    }
    let token = try parse(parts.joined(separator: ".")).get()
    #expect(parts.contains { $0.hasSuffix("==") } && parts.allSatisfy { $0.hasSuffix("=") || $0.utf8.count % 4 == 0 })
    #expect(token.payload == Array(#"{"sub":"bob"}"#.utf8) && token.signature == Array("sign".utf8))
    #expect(token.signedBytes == Array("\(parts[0]).\(parts[1])".utf8))
  }

  @Test(
    arguments: [
      ("", .malformed), ("a.b", .malformed), ("..", .malformed), ("a.b.c.d.e", .malformed),
      (unsignedToken() + ".c2ln", .malformed), (unsignedToken() + "=", .malformed),
      (unsignedToken() + "====", .malformed),
      (unsignedToken() + "\n", .malformed),
      (" " + unsignedToken(), .malformed), (unsignedToken("[]"), .malformed), (unsignedToken("{"), .malformed),
      (unsignedToken("{}"), .malformed), (unsignedToken(#"{"alg":1}"#), .malformed),
      (unsignedToken(#"{"alg":"RS256","alg":"RS256"}"#), .malformed),
      (unsignedToken(#"{"alg":"none","\u0061lg":"RS256"}"#), .malformed),
      (unsignedToken(#"{"alg":"RS256","typ":7}"#), .malformed),
      (unsignedToken(#"{"alg":"RS256",}"#), .malformed),
      (unsignedToken(#"{"alg":"none"}"#), .algorithmNotAllowed),
      (unsignedToken(#"{"alg":"None"}"#), .algorithmNotAllowed),
      (unsignedToken(#"{"alg":"HS256"}"#), .algorithmNotAllowed),
      (unsignedToken(#"{"alg":"HS512"}"#), .algorithmNotAllowed),
      (unsignedToken(#"{"alg":"rs256"}"#), .algorithmNotAllowed), (unsignedToken(#"{"alg":""}"#), .algorithmNotAllowed),
      (unsignedToken(#"{"alg":"ES256k"}"#), .algorithmNotAllowed),
      (unsignedToken(#"{"alg":"RS256","crit":["exp"],"exp":1}"#), .criticalHeader),
      (unsignedToken(#"{"alg":"RS256","crit":[]}"#), .criticalHeader),
      (unsignedToken(#"{"alg":"RS256","b64":false,"crit":["b64"]}"#), .criticalHeader),
      (unsignedToken(#"{"alg":"RS256","typ":"at+jwt"}"#), .typeNotAllowed),
      (unsignedToken(#"{"alg":"RS256","typ":"logout+jwt"}"#), .typeNotAllowed),
      (String(unsignedToken().dropLast(4)), .signatureInvalid),
      (unsignedToken(#"{"alg":"RS256"}"#, String(repeating: " ", count: 131_072)), .tooLarge),
    ] as [(String, IDTokenFailure)])
  func malformedJWT_isRefused(token: String, failure: IDTokenFailure) { #expect(parse(token).failure == failure) }

  @Test func jwtOverTheSizeLimit_isRefused() throws {
    let rest = unsignedToken().utf8.count - 3  // the claims `{}` are three characters
    let claims = String(repeating: "e", count: (CompactJWT.maximumBytes - rest) / 4 * 4)
    let parts = unsignedToken().split(separator: ".")
    #expect(parse("\(parts[0]).\(claims).\(parts[2])").failure == nil)
    #expect(parse("\(parts[0]).\(claims)eeee.\(parts[2])").failure == .tooLarge)
  }
}
