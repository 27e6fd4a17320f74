import Foundation
import LoopbackHTTP

/// The credentials that a request carries for its client (RFC 6749 section 2.3), not yet verified.
struct ClientCredentials {
  let id: String
  /// A secret, or the assertion that stands in its place.
  let secret: String?
  let method: ClientAuthenticationMethod

  init(_ request: HTTPRequest, _ form: Parameters) throws(OAuthError) {
    if let authorization = request.header("Authorization") {
      guard let (id, secret) = Self.basic(authorization) else { throw .invalidClient(challenge: true) }
      // RFC 6749 section 2.3: a request uses one method only.
      guard form["client_secret"] == nil, form["client_id"].map({ $0 == id }) ?? true else {
        throw .invalidRequest("two ways of authentication")
      }
      (self.id, self.secret, method) = (id, secret, .basic)
    } else if let assertion = form["client_assertion"] {
      guard form["client_assertion_type"] == ClientAssertion.type, form["client_secret"] == nil,
        let id = ClientAssertion(assertion)?.claims["sub"]?.stringValue, form["client_id"].map({ $0 == id }) ?? true
      else { throw .invalidClient(challenge: false) }
      (self.id, secret, method) = (id, assertion, .privateKeyJWT)
    } else {
      id = try form.required("client_id")
      secret = form["client_secret"]
      method = secret == nil ? .none : .post
    }
  }

  var refusal: OAuthError { .invalidClient(challenge: method == .basic) }

  /// RFC 6749 section 2.3.1: both halves are form-encoded before they are joined.
  private static func basic(_ header: String) -> (String, String)? {
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
