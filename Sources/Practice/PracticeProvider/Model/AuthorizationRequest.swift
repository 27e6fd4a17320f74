/// An authorization request that passed every check.
struct AuthorizationRequest: Sendable {
  let clientID: String
  let redirectURI: String
  let scopes: [String]
  let resources: [String]
  let state: String?
  let nonce: String?
  let codeChallenge: String
  let loginHint: String?
  let prompts: Set<String>
  let maximumAgeSeconds: Int64?
  /// The thumbprint of the key that the code is bound to (RFC 9449 section 10).
  let boundTo: String?
  /// What is granted of the `authorization_details`.
  let details: [PracticeJSON]?

  init(
    _ parameters: Parameters,
    client: PracticeClient,
    redirectURI: String,
    options: PracticeOptions
  ) throws(OAuthError) {
    if parameters["request"] != nil { throw OAuthError(code: "request_not_supported") }
    if parameters["request_uri"] != nil { throw OAuthError(code: "request_uri_not_supported") }
    guard try parameters.required("response_type") == "code" else {
      throw OAuthError(code: "unsupported_response_type")
    }
    guard parameters["response_mode"] ?? "query" == "query" else {
      throw .invalidRequest("response_mode must be query")
    }
    // RFC 9700 section 2.1.1: PKCE for every client, and no `plain`, which reveals the verifier to readers of the
    // request.
    guard let challenge = parameters["code_challenge"] else { throw .invalidRequest("code_challenge is missing") }
    guard parameters["code_challenge_method"] == "S256" else {
      throw .invalidRequest("code_challenge_method must be S256")
    }
    guard Base64URL.decode(challenge)?.count == 32 else { throw .invalidRequest("code_challenge is not a SHA-256") }
    let prompts = Set((parameters["prompt"] ?? "").split(separator: " ").map(String.init))
    guard !prompts.contains("none") || prompts.count == 1 else { throw .invalidRequest("prompt none stands alone") }
    clientID = client.id
    self.redirectURI = redirectURI
    scopes = try parameters.scopes(offeredTo: client, of: options.scopes)
    resources = try parameters.resources(of: client)
    state = parameters["state"]
    nonce = parameters["nonce"]
    codeChallenge = challenge
    loginHint = parameters["login_hint"]
    self.prompts = prompts
    boundTo = parameters["dpop_jkt"]
    details = try parameters.authorizationDetails(options)
    maximumAgeSeconds = parameters["max_age"].flatMap { Int64($0) }
  }
}

/// A pushed authorization request that waits for its browser.
struct PushedRequest: Sendable {
  /// Limit of pushed requests that are never used.
  static let maximumWaiting = 256

  let request: AuthorizationRequest
  let expiresAtMilliseconds: Int64
}

/// An authorization code and the values it is bound to (RFC 6749 section 4.1.2, RFC 7636 section 4.4).
struct AuthorizationCode: Sendable {
  /// RFC 6749 section 4.1.2 recommends ten minutes at most; a loopback redirect takes a moment.
  static let lifetimeMilliseconds: Int64 = 60_000

  let request: AuthorizationRequest
  let userIndex: Int
  let authTime: Int64
  let sessionID: String
  let expiresAtMilliseconds: Int64
  /// The grant that the code was exchanged for: a second use of the code ends it.
  var usedForGrant: String?

  /// Checks that the code is exchanged in its lifetime and by the client that asked for it.
  func check(_ form: Parameters, now: Int64) throws(OAuthError) {
    guard expiresAtMilliseconds > now else { throw .invalidGrant("the code has expired") }
    guard form["redirect_uri"] == request.redirectURI else { throw .invalidGrant("another redirect_uri") }
    guard let verifier = form["code_verifier"] else { throw .invalidRequest("code_verifier is missing") }
    guard Self.isVerifier(verifier), Base64URL.encode(Digest.sha256(verifier.utf8)) == request.codeChallenge
    else { throw .invalidGrant("code_verifier does not match") }
  }

  /// RFC 7636 section 4.1.
  private static func isVerifier(_ text: String) -> Bool {
    (43...128).contains(text.utf8.count)
      && text.utf8.allSatisfy { byte in
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
        default: "-._~".utf8.contains(byte)
        }
      }
  }
}
