/// The result of one sign-in for one client, or of a client's own credentials: the family of all tokens that come from it.
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
  /// Nil: the grant is the client's own (RFC 6749 section 4.4).
  let userIndex: Int?
  var scopes: [String]
  var resources: [String]
  var details: [PracticeJSON]?
  let nonce: String?
  /// Seconds since 1970 (OpenID Core section 2).
  let authTime: Int64
  let sessionID: String
  /// The thumbprint of the key that its refresh tokens are bound to, of a public client (RFC 9449 section 5).
  var thumbprint: String?
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

  func isExpired(at now: Int64) -> Bool { expiresAtMilliseconds.map { $0 <= now } ?? false }
}

struct AccessToken: Sendable {
  let grantID: String
  let scopes: [String]
  let audience: [String]
  let expiresAtMilliseconds: Int64
  /// The thumbprint of the key that it is bound to; nil for a bearer token.
  var thumbprint: String?
  var isRevoked = false
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
  let details: [PracticeJSON]?
  let expiresAtMilliseconds: Int64
  var intervalSeconds: Int
  var lastPollMilliseconds: Int64?
  var status: Status = .pending
}
