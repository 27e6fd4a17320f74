/// What becomes of `authorization_details` (RFC 9396).
public enum AuthorizationDetailsPolicy: String, Sendable, Codable {
  /// The parameter is unknown, so it is ignored (RFC 6749 section 3.1).
  case off
  /// Granted as requested.
  case granted
  /// The person grants only the first one.
  case lessened
  /// Each one gets a member of the provider (RFC 9396 section 7.1).
  case enriched
  /// No request with them is accepted.
  case refused
}

extension Parameters {
  /// What is granted of `authorization_details`; nil if the request has none, or the provider does not know them.
  func authorizationDetails(_ options: PracticeOptions) throws(OAuthError) -> [PracticeJSON]? {
    guard options.authorizationDetails != .off, let text = self["authorization_details"] else { return nil }
    let types = options.authorizationDetailsTypes
    guard options.authorizationDetails != .refused,
      let wanted = (try? PracticeJSON(parsing: Array(text.utf8)))?.arrayValue,
      wanted.allSatisfy({ $0["type"]?.stringValue.map { types.isEmpty || types.contains($0) } ?? false })
    else { throw OAuthError(code: "invalid_authorization_details") }
    switch options.authorizationDetails {
    case .lessened: return Array(wanted.prefix(1))
    case .enriched: return wanted.map { $0.changed(by: ["grantedBy": "practice"]) }
    case .off, .granted, .refused: return wanted
    }
  }
}

extension [PracticeJSON]? {
  /// The member of a token response (RFC 9396 section 7); none without a request for them.
  var asMember: [PracticeJSON.Member] { map { [.init("authorization_details", .array($0))] } ?? [] }
}
