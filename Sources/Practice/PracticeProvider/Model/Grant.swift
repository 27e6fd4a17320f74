/// The result of one sign-in for one client: the family of all tokens that come from it.
struct Grant: Sendable {
  enum End: String, Sendable {
    case refreshTokenReused
    case codeReused
    case revoked
    case signedOut
    case administrator
  }

  let id: String
  let clientID: String
  let userIndex: Int
  var scopes: [String]
  var resources: [String]
  let nonce: String?
  /// Seconds since 1970 (OpenID Core section 2).
  let authTime: Int64
  let sessionID: String
  var end: End?
}

/// One refresh token of a rotation.
struct RefreshToken: Sendable {
  enum Status: Sendable, Equatable {
    case current
    case replaced(atMilliseconds: Int64, by: String)
    case revoked
  }

  let grantID: String
  let expiresAtMilliseconds: Int64?
  var status: Status = .current
}

struct AccessToken: Sendable {
  let grantID: String
  let scopes: [String]
  let audience: [String]
  let issuedAtMilliseconds: Int64
  let expiresAtMilliseconds: Int64
  var isRevoked = false
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
}

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
}

/// RFC 8628 section 3.2.
struct DeviceAuthorization: Sendable {
  enum Status: Sendable, Equatable {
    case pending
    case approved(userIndex: Int, authTime: Int64)
    case denied
    case used
  }

  let userCode: String
  let clientID: String
  let scopes: [String]
  let resources: [String]
  let expiresAtMilliseconds: Int64
  var intervalSeconds: Int
  var lastPollMilliseconds: Int64?
  var status: Status = .pending
}
