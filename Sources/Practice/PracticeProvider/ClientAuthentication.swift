import Foundation
import LoopbackHTTP

extension ProviderState {
  /// The client that makes this request (RFC 6749 section 2.3).
  mutating func authenticateClient(_ request: HTTPRequest, _ form: Parameters) throws(OAuthError) -> PracticeClient {
    let (id, secret, method) = try Self.credentials(request, form)
    seenClientID = id
    let isBasic = method == .basic
    guard let client = client(id) else { throw .invalidClient(challenge: isBasic) }
    let isProved =
      switch method {
      case .privateKeyJWT: isProved(secret ?? "", by: client, at: issuer.localPath(of: request.path) ?? "")
      case .none, .basic, .post: client.secret == secret
      }
    guard client.authenticationMethods.contains(method), isProved else {
      if options.wrongSecretBurnsRefreshToken, let token = form["refresh_token"] {
        refreshTokens[token]?.status = .revoked
      }
      throw .invalidClient(challenge: isBasic)
    }
    return client
  }

  private static func credentials(
    _ request: HTTPRequest,
    _ form: Parameters
  ) throws(OAuthError) -> (id: String, secret: String?, method: ClientAuthenticationMethod) {
    if let authorization = request.header("Authorization") {
      guard let (id, secret) = basicCredentials(authorization) else { throw .invalidClient(challenge: true) }
      // RFC 6749 section 2.3: a request uses one method only.
      guard form["client_secret"] == nil, form["client_id"].map({ $0 == id }) ?? true else {
        throw .invalidRequest("two ways of authentication")
      }
      return (id, secret, .basic)
    }
    if let assertion = form["client_assertion"] {
      guard form["client_assertion_type"] == ClientAssertion.type, form["client_secret"] == nil,
        let id = ClientAssertion(assertion)?.claims["sub"]?.stringValue, form["client_id"].map({ $0 == id }) ?? true
      else { throw .invalidClient(challenge: false) }
      return (id, assertion, .privateKeyJWT)
    }
    let id = try form.required("client_id")
    return (id, form["client_secret"], form["client_secret"] == nil ? .none : .post)
  }

  /// RFC 6749 section 2.3.1: both halves are form-encoded before they are joined.
  private static func basicCredentials(_ header: String) -> (String, String)? {
    let parts = header.split(separator: " ", maxSplits: 1)
    guard parts.count == 2, parts[0].lowercased() == "basic", let bytes = Data(base64Encoded: String(parts[1])),
      let colon = bytes.firstIndex(of: UInt8(ascii: ":"))
    else { return nil }
    return (
      PercentEncoding.decode(bytes[..<colon], plusIsSpace: true),
      PercentEncoding.decode(bytes[(colon + 1)...], plusIsSpace: true)
    )
  }
}
