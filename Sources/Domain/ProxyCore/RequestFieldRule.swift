internal import AgentModel

/// What becomes of a header field of the program's request (docs/proxy.md, What goes on).
enum RequestFieldRule {
  case forwarded
  /// Left out: a credential, or about the connection to this proxy.
  case dropped
  /// The request is refused: without the field the server would do something else.
  case refused(Refusal)

  /// The fields that go on, in their order.
  static func forwarded(_ head: RequestHead) throws(Refusal) -> [(name: String, value: String)] {
    // RFC 9110 section 7.6.1: `Connection` names more fields that are about the connection.
    let named = Set(head.values("connection").flatMap { FieldSyntax.tokens(of: $0) })
    var kept: [(name: String, value: String)] = []
    for field in head.fields {
      let name = field.name.lowercased()
      switch RequestFieldRule(name) {
      case .forwarded: if !named.contains(name) { kept.append(field) }
      case .dropped: break
      case .refused(let refusal): throw refusal
      }
    }
    return kept
  }

  /// Servers behind CGI or WSGI read `_` as `-` (RFC 3875 section 4.1.18), and some every mark.
  init(_ lowercased: String) {
    let name = String(
      decoding: lowercased.utf8.map { FieldSyntax.isAlphanumeric($0) ? $0 : UInt8(ascii: "-") }, as: UTF8.self)
    if name == "upgrade" {
      self = .refused(
        Refusal(501, "upgradeRefused", "The proxy forwards no WebSocket and no other upgrade of a connection."))
    } else if Self.overriding.contains(name) || name.hasPrefix("impersonate-") {
      self = .refused(
        Refusal(
          400, "overrideRefused",
          "The proxy forwards no \(lowercased): a server may take it for another method, path or person."))
    } else if ["proxy-", "x-forwarded-"].contains(where: name.hasPrefix) || Self.ofConnection.contains(name)
      || Self.credentials.contains(name)
    {
      self = .dropped
    } else {
      self = .forwarded
    }
  }

  /// The names of the parameters in a query, decoded and in lower case. Some servers part them by `;`, and PHP reads `.`, a
  /// space and an index as a part of the same name.
  private static func names(in query: String?) -> Set<String> {
    let names = (query ?? "").split { $0 == "&" || $0 == ";" }.map { decoded(String($0.prefix { $0 != "=" })) }
    return Set(names).union(
      names.map { name in
        String(name.prefix { $0 != "[" }.drop { $0 == " " || $0 == "+" }.map { ". +".contains($0) ? "_" : $0 })
      })
  }

  /// Refuses a token in the query (RFC 6750 section 2.3), and what turns the request into another.
  static func check(query: String?) throws(Refusal) {
    let names = names(in: query)
    if let name = credentialParameters.first(where: names.contains) {
      throw Refusal(
        400, "credentialInURL",
        "The URL has a credential of the program's own (\(name)). Leave it out: the proxy adds the token.")
    }
    if let name = overridingParameters.first(where: names.contains) {
      throw Refusal(
        400, "overrideRefused",
        "The proxy forwards no \(name) in a query: a server may take it for another method, field or person.")
    }
  }

  private static func decoded(_ text: String) -> String {
    var bytes: [UInt8] = []
    var rest = Array(text.utf8)[...]
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "%"), rest.count > 1,
        let code = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16)
      else {
        bytes.append(byte)
        continue
      }
      bytes.append(code)
      rest = rest.dropFirst(2)
    }
    return String(decoding: bytes, as: UTF8.self).lowercased()
  }

  private static let credentialParameters = [
    "access_token", "api-key", "api_key", "apikey", "auth_token", "job_token", "oauth_token", "private_token",
  ]

  /// `$httpMethod` and `$httpHeaders` are those of Google's APIs, which put a request with any field into a plain one.
  private static let overridingParameters = [
    "$httpheaders", "$httpmethod", "_method", "sudo", "x-http-method", "x-http-method-override",
  ]

  /// RFC 9110 section 7.6.1. The proxy speaks to the server on a connection of its own, and wants its answers uncoded and whole,
  /// so that a repeated token is found in them: a program that asks for part by part would get the token in parts.
  private static let ofConnection: Set<String> = [
    "accept-encoding", "connection", "content-length", "expect", "host", "http2-settings", "if-range",
    "keep-alive", "range", "request-range", "te", "trailer", "transfer-encoding",
  ]

  /// Credentials that APIs know, and persons and addresses that servers take from a proxy before them, so that no request
  /// is made in another name than the account's. `x-forwarded-` is one of their beginnings, too.
  private static let credentials: Set<String> = [
    "access-token", "api-key", "api-token", "apikey", "authentication", "authorization", "circle-token", "cookie",
    "cookie2", "dd-api-key", "dd-application-key", "deploy-token", "dpop", "forwarded", "job-token",
    "ocp-apim-subscription-key", "private-token", "remote-user", "secret-token", "token", "true-client-ip",
    "x-access-key", "x-access-token", "x-amz-security-token", "x-api-key", "x-api-token", "x-apikey", "x-auth",
    "x-auth-email", "x-auth-key", "x-auth-token", "x-authenticated-user", "x-authorization", "x-client-ip",
    "x-consul-token", "x-figma-token", "x-functions-key", "x-gitlab-token", "x-goog-api-key",
    "x-goog-authenticated-user-id", "x-goog-iap-jwt-assertion", "x-id-token", "x-jfrog-art-api",
    "x-ms-token-aad-access-token", "x-nuget-apikey", "x-octopus-apikey", "x-plex-token", "x-real-ip",
    "x-redmine-api-key", "x-remote-user", "x-session-token", "x-shopify-access-token", "x-token", "x-vault-token",
    "x-webauth-user",
  ]

  /// By these some servers take another method, path or person than those that were judged.
  private static let overriding: Set<String> = [
    "sudo", "x-forwarded-method", "x-forwarded-path", "x-forwarded-uri", "x-http-method", "x-http-method-override",
    "x-httpmethod-override", "x-method", "x-method-override", "x-original-method", "x-original-uri",
    "x-original-url", "x-override-method", "x-redmine-switch-user", "x-rewrite-uri", "x-rewrite-url",
  ]
}
