import AgentCore
import AgentModel
import Testing
import TokenSignatures

@Suite struct PolicyTests {
  static let now = Timestamp(year: 2030, month: 1, day: 1)
  static let seconds = now.milliseconds / 1000

  /// The claims of a good token with some replaced; nil removes a claim.
  static func claims(_ changes: KeyValuePairs<String, String?> = [:]) throws -> IDTokenClaims {
    var members = [
      "iss": #""https://idp.example""#, "sub": #""alice""#, "aud": #""lanyard""#, "exp": "\(seconds + 300)",
      "iat": "\(seconds)", "nonce": #""n""#,
    ]
    for (name, value) in changes { members[name] = value }
    return try ClaimsTests.claims("{" + members.map { "\"\($0)\":\($1)" }.joined(separator: ",") + "}")
  }

  static func check(
    _ claims: IDTokenClaims, maximumAge: Milliseconds? = nil, context: IDTokenPolicy.Context = .unasked
  ) -> IDTokenPolicy.Verdict {
    IDTokenPolicy.check(
      claims, issuer: "https://idp.example", clientID: "lanyard", nonce: .required("n"), now: now,
      maximumAge: maximumAge, context: context, trustsAudience: { equalCodePoints($0, "api") })
  }

  @Test func validIDToken_isBelieved() throws {
    let verdict = try Self.check(Self.claims())
    #expect(verdict.failures.isEmpty && verdict.warnings.isEmpty)
  }

  @Test(
    arguments: [
      (["iss": nil], [IDTokenFailure.issuerMismatch]), (["iss": #""https://idp.example/""#], [.issuerMismatch]),
      (["iss": #""HTTPS://idp.example""#], [.issuerMismatch]), (["iss": #""https://evil.example""#], [.issuerMismatch]),
      (["aud": nil], [.audienceMismatch]), (["aud": "[]"], [.audienceMismatch]),
      (["aud": #""other""#], [.audienceMismatch]),
      (["aud": #"["lanyard"]"#], []), (["aud": #"["api","lanyard"]"#], [.authorizedPartyMismatch]),
      (["aud": #"["api","lanyard"]"#, "azp": #""lanyard""#], []),
      (["aud": #"["lanyard","lanyard"]"#, "azp": #""lanyard""#], []),
      (["aud": #"["lanyard","other"]"#, "azp": #""lanyard""#], [.audienceMismatch]),
      (["aud": #"["lanyard",""]"#, "azp": #""lanyard""#], [.audienceMismatch]),
      (["aud": #"["lanyard","api","api\u0301"]"#, "azp": #""lanyard""#], [.audienceMismatch]),
      (["aud": #"["api","lanyard"]"#, "azp": #""api""#], [.authorizedPartyMismatch]),
      (["azp": #""other""#], [.authorizedPartyMismatch]), (["azp": #""lanyard""#], []),
      (["aud": #"["api","other"]"#, "azp": #""lanyard""#], [.audienceMismatch]),
      (["sub": nil], [.subjectMissing]), (["sub": #""""#], [.subjectMissing]),
      (["sub": "\"" + String(repeating: "a", count: 255) + "\""], []),
      (["sub": "\"" + String(repeating: "a", count: 256) + "\""], [.subjectTooLong]),
      (["nonce": nil], [.nonceMissing]), (["nonce": #""m""#], [.nonceMismatch]), (["nonce": #""""#], [.nonceMismatch]),
      (["exp": nil], [.expiryMissing]), (["exp": "\(seconds - 119)"], []), (["exp": "\(seconds - 120)"], [.expired]),
      (["exp": "0"], [.expired]), (["iat": nil], [.issuedAtMissing]), (["iat": "0"], []),
      (["nbf": "\(seconds + 119)"], []), (["nbf": "\(seconds + 120)"], [.notYetValid]),
      (
        ["iss": nil, "aud": nil, "sub": nil, "nonce": nil, "exp": nil, "iat": nil],
        [.issuerMismatch, .audienceMismatch, .subjectMissing, .nonceMissing, .expiryMissing, .issuedAtMissing]
      ),
    ] as [(KeyValuePairs<String, String?>, [IDTokenFailure])])
  func wrongClaim_isReportedByItsFailure(changes: KeyValuePairs<String, String?>, failures: [IDTokenFailure]) throws {
    #expect(try Self.check(Self.claims(changes)).failures == failures)
  }

  @Test func issuedAtInTheFuture_warnsAndIsBelieved() throws {
    #expect(try Self.check(Self.claims(["iat": "\(Self.seconds + 120)"])).warnings.isEmpty)
    let verdict = try Self.check(Self.claims(["iat": "\(Self.seconds + 86_400)"]))
    #expect(verdict.failures.isEmpty && verdict.warnings == [.issuedInFuture])
  }

  @Test func identifiersInAnotherUnicodeForm_areMismatches() throws {
    // U+00E9 and e with U+0301 look the same and are equal as Swift Strings.
    let claims = try Self.claims(["aud": "\"caf\u{E9}\"", "iss": "\"caf\u{E9}\"", "nonce": "\"caf\u{E9}\""])
    let verdict = IDTokenPolicy.check(
      claims, issuer: "cafe\u{301}", clientID: "cafe\u{301}", nonce: .required("cafe\u{301}"), now: Self.now)
    #expect(verdict.failures == [.issuerMismatch, .audienceMismatch, .nonceMismatch])
  }

  @Test func nonce_mustMatchTheOneSent() throws {
    func failures(_ nonce: IDTokenPolicy.Nonce, _ claim: String?) throws -> [IDTokenFailure] {
      try IDTokenPolicy.check(
        Self.claims(["nonce": claim]), issuer: "https://idp.example", clientID: "lanyard", nonce: nonce, now: Self.now
      ).failures
    }
    #expect(try failures(.ifPresent("n"), nil) == [] && failures(.ifPresent("n"), #""n""#) == [])
    #expect(try failures(.ifPresent("n"), #""m""#) == [.nonceMismatch])
    #expect(try failures(.unasked, nil) == [] && failures(.unasked, #""m""#) == [])
  }

  @Test func maximumAge_isCheckedAgainstAuthTime() throws {
    let hour = Milliseconds.seconds(3600)
    #expect(try Self.check(Self.claims(), maximumAge: hour).failures == [.authTimeMissing])
    #expect(try Self.check(Self.claims(["auth_time": "0"]), maximumAge: hour).failures == [.authTimeMissing])
    #expect(try Self.check(Self.claims(["auth_time": "\(Self.seconds - 3719)"]), maximumAge: hour).failures == [])
    #expect(
      try Self.check(Self.claims(["auth_time": "\(Self.seconds - 3720)"]), maximumAge: hour).failures
        == [.authenticationTooOld])
  }

  @Test(
    arguments: [
      (nil, .unasked, [], []), ("pwd", .unasked, [], []), ("mfa", .voluntary(["phr", "mfa"]), [], []),
      ("pwd", .voluntary(["phr", "mfa"]), [.contextMismatch], []), (nil, .voluntary(["mfa"]), [], [.contextMissing]),
      ("mfa", .essential(["mfa"]), [], []), ("MFA", .essential(["mfa"]), [.contextMismatch], []),
      (nil, .essential(["mfa"]), [.contextMissing], []), ("any", .essential([]), [], []),
      (nil, .essential([]), [.contextMissing], []),
    ] as [(String?, IDTokenPolicy.Context, [IDTokenFailure], [IDTokenWarning])])
  func context_isComparedWithTheRequested(
    told: String?, context: IDTokenPolicy.Context, failures: [IDTokenFailure], warnings: [IDTokenWarning]
  ) throws {
    let verdict = try Self.check(Self.claims(["acr": told.map { "\"\($0)\"" }]), context: context)
    #expect(verdict.failures == failures)
    #expect(verdict.warnings == warnings)
  }

  static let first = IDTokenIdentity(
    issuer: "https://idp.example", subject: "alice", audiences: ["a", "b"], authorizedParty: "a",
    authTime: Timestamp(milliseconds: 5_250))

  private func changes(_ change: (inout IDTokenIdentity) -> Void) -> [IDTokenFailure] {
    var refreshed = Self.first
    change(&refreshed)
    return Self.first.changes(in: refreshed, issuedAt: Timestamp(milliseconds: 9_000))
  }

  @Test func refreshedIDTokenWithAnotherIdentity_isRefused() {
    #expect(changes { _ in } == [])
    #expect(changes { $0.issuer += "/" } == [.issuerChanged])
    #expect(changes { $0.subject = "mallory" } == [.subjectChanged])
    #expect(changes { $0.audiences = ["b", "a"] } == [])
    #expect(changes { $0.audiences = ["a"] } == [.audienceChanged])
    #expect(changes { $0.audiences = ["a", "b", "c"] } == [.audienceChanged])
    #expect(changes { $0.audiences = ["a", "b\u{301}"] } == [.audienceChanged])
    #expect(changes { $0.authorizedParty = "b" } == [.authorizedPartyChanged])
    #expect(changes { $0.authorizedParty = nil } == [.authorizedPartyChanged])
    #expect(
      changes { $0 = IDTokenIdentity(issuer: "x", subject: "y", audiences: []) }
        == [.issuerChanged, .subjectChanged, .audienceChanged, .authorizedPartyChanged])
  }

  @Test(
    "auth_time may go forward up to iat: the person signed in again for another client",
    arguments: [
      (nil, false), (5_000, false), (5_999, false), (6_000, false), (9_999, false), (4_999, true), (1_000, true),
      (10_000, true), (99_000, true),
    ] as [(Int64?, Bool)])
  func authTime_ofARefreshedIDToken(milliseconds: Int64?, isRefused: Bool) {
    let found = changes { $0.authTime = milliseconds.map { Timestamp(milliseconds: $0) } }
    #expect(found == (isRefused ? [.authTimeChanged] : []))
  }

  @Test func identity_isTakenFromTheClaims() throws {
    let identity = try IDTokenIdentity(Self.claims(["auth_time": "5"]))
    #expect(
      identity
        == IDTokenIdentity(
          issuer: "https://idp.example", subject: "alice", audiences: ["lanyard"],
          authTime: Timestamp(milliseconds: 5_000)))
    #expect(try IDTokenIdentity(Self.claims(["sub": nil])) == nil)
  }

  @Test func failureNames_areStable() {
    #expect(
      IDTokenFailure.allCases.map(\.rawValue).sorted() == [
        "accessTokenMismatch", "algorithmNotAllowed", "audienceChanged", "audienceMismatch", "authTimeChanged",
        "authTimeMissing",
        "authenticationTooOld", "authorizedPartyChanged", "authorizedPartyMismatch", "contextMismatch",
        "contextMissing", "criticalHeader", "expired",
        "expiryMissing", "issuedAtMissing", "issuerChanged", "issuerMismatch", "keyNotFound", "keySetMalformed",
        "malformed", "nonceMismatch", "nonceMissing", "notYetValid", "signatureInvalid", "subjectChanged",
        "subjectMissing", "subjectTooLong", "tooLarge", "typeNotAllowed",
      ])
  }

  /// From the bytes of a token to the verdict, with a real signature of every algorithm.
  @Test(arguments: SignatureAlgorithm.allCases)
  func signedIDToken_isVerifiedFromBytesToVerdict(algorithm: SignatureAlgorithm) throws {
    let key = try SigningKey.of(algorithm)
    let set = try JWKSetTests.keys(key.jwk(id: "k1"), key.jwk(id: "k2"))
    let head = unsignedToken(
      #"{"alg":"\#(algorithm.rawValue)","kid":"k2"}"#, #"{"iss":"https://idp.example","sub":"alice"}"#)
    let signed = head.split(separator: ".").prefix(2).joined(separator: ".")
    let token = try parse(signed + "." + Base64URL.encode(key.sign(Array(signed.utf8)))).get()
    let candidates = try set.candidates(for: token)
    #expect(candidates == [key.publicKey])
    let verifier = OpenSSLSignatureVerifier()
    #expect(
      verifier.isValid(token.signature, over: token.signedBytes, by: candidates[0], algorithm: token.algorithm))
    #expect(try IDTokenClaims(token).subject == "alice")
  }
}

extension SigningKey {
  /// The public key as a member of a JWK Set.
  func jwk(id: String) -> String {
    switch publicKey {
    case .rsa(let modulus, let exponent):
      #"{"kty":"RSA","kid":"\#(id)","n":"\#(Base64URL.encode(modulus))","e":"\#(Base64URL.encode(exponent))"}"#
    case .ellipticCurve(let curve, let x, let y):
      #"{"kty":"EC","crv":"\#(curve.rawValue)","kid":"\#(id)","x":"\#(Base64URL.encode(x))","y":"\#(Base64URL.encode(y))"}"#
    case .ed25519(let x): #"{"kty":"OKP","crv":"Ed25519","kid":"\#(id)","x":"\#(Base64URL.encode(x))"}"#
    case .ed448(let x): #"{"kty":"OKP","crv":"Ed448","kid":"\#(id)","x":"\#(Base64URL.encode(x))"}"#
    }
  }
}
