import Glibc
import LoopbackHTTP

extension ProviderState {
  /// `/sts`: AWS's `AssumeRoleWithWebIdentity`, as far as this provider's ID tokens go: credentials of any role whose name
  /// does not contain `denied`.
  mutating func assumeRole(_ request: HTTPRequest) throws(OAuthError) -> HTTPResponse {
    let form = try Parameters(formOf: request)
    guard form["Action"] == "AssumeRoleWithWebIdentity", form["Version"] == "2011-06-15",
      let role = form["RoleArn"], form["RoleSessionName"] != nil
    else { return Self.refusal("InvalidAction", status: 400) }
    guard let parsed = form["WebIdentityToken"].flatMap({ ClientAssertion($0) }),
      parsed.claims["iss"]?.stringValue == context.issuer.identifier, let expiry = parsed.claims["exp"]?.integerValue
    else { return Self.refusal("InvalidIdentityToken", status: 400) }
    guard expiry > context.nowSeconds else { return Self.refusal("ExpiredTokenException", status: 400) }
    guard !role.contains("denied") else { return Self.refusal("AccessDenied", status: 403) }
    rolesAssumed += 1
    let seconds = form["DurationSeconds"].flatMap { Int64($0) } ?? 3600
    let expiration = Self.rfc3339(context.nowSeconds + seconds)
    return HTTPResponse(
      status: 200, headers: [("Content-Type", "text/xml")],
      body: Array(
        """
        <AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/">
          <AssumeRoleWithWebIdentityResult>
            <Credentials>
              <AccessKeyId>ASIA\(rolesAssumed)</AccessKeyId>
              <SecretAccessKey>secret/key+\(rolesAssumed)</SecretAccessKey>
              <SessionToken>session+token/\(rolesAssumed)==</SessionToken>
              <Expiration>\(expiration)</Expiration>
            </Credentials>
          </AssumeRoleWithWebIdentityResult>
        </AssumeRoleWithWebIdentityResponse>
        """.utf8))
  }

  private static func refusal(_ code: String, status: Int) -> HTTPResponse {
    HTTPResponse(
      status: status, headers: [("Content-Type", "text/xml")],
      body: Array("<ErrorResponse><Error><Type>Sender</Type><Code>\(code)</Code></Error></ErrorResponse>".utf8))
  }

  private static func rfc3339(_ seconds: Int64) -> String {
    var (moment, fields) = (time_t(seconds), tm())
    gmtime_r(&moment, &fields)
    return String(unsafeUninitializedCapacity: 32) { text in
      text.withMemoryRebound(to: CChar.self) { strftime($0.baseAddress!, $0.count, "%Y-%m-%dT%H:%M:%SZ", &fields) }
    }
  }
}
