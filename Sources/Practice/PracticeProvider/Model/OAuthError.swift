public import LoopbackHTTP

/// An OAuth error (RFC 6749 sections 4.1.2.1 and 5.2, and the specifications that add codes).
struct OAuthError: Error {
  let code: String
  var status = 400
  var description: String?
  var members: [PracticeJSON.Member] = []
  var headers: [(name: String, value: String)] = []
  /// The situation, for which a guise has words of its own.
  var refusal: Refusal?

  static func invalidRequest(_ description: String) -> OAuthError {
    OAuthError(code: "invalid_request", description: description)
  }

  static func invalidGrant(_ description: String) -> OAuthError {
    OAuthError(code: "invalid_grant", description: description)
  }

  /// RFC 6749 section 5.2: 401, and a challenge if the client used the Authorization header.
  static func invalidClient(challenge: Bool) -> OAuthError {
    OAuthError(
      code: "invalid_client",
      status: 401,
      description: "unknown client, or its authentication is wrong",
      headers: challenge ? [("WWW-Authenticate", "Basic realm=\"practice\"")] : [],
      refusal: .badClient
    )
  }

  var response: HTTPResponse {
    var body: [PracticeJSON.Member] = [.init("error", .string(code))]
    if let description { body.append(.init("error_description", .string(description))) }
    return .json(.object(body + members), status: status, headers: headers)
  }
}

extension HTTPResponse {
  static var notFound: HTTPResponse { .oauthError("not_found", status: 404) }

  /// Responses with tokens or about tokens are never cached (RFC 6749 section 5.1).
  public static func json(
    _ value: PracticeJSON,
    status: Int = 200,
    headers: [(name: String, value: String)] = []
  ) -> HTTPResponse {
    HTTPResponse(
      status: status,
      headers: [("Content-Type", "application/json"), ("Cache-Control", "no-store")] + headers,
      body: Array(value.text.utf8)
    )
  }

  public static func oauthError(_ code: String, status: Int = 400, description: String? = nil) -> HTTPResponse {
    OAuthError(code: code, status: status, description: description).response
  }

  /// The body as JSON; nil if it is none.
  public var json: PracticeJSON? { try? PracticeJSON(parsing: body) }
}
