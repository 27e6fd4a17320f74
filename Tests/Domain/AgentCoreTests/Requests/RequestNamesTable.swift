import AgentCore

/// A second reading of the rule for names, written as a table: a part of a name, what a header field has to be that holds
/// it, and what a parameter. The rule is compared with it in `RequestNamesTests`.
enum RequestNamesTable {
  struct Row: Sendable {
    let words: [String]
    /// Nil: not plain, and it does not matter why.
    var field: RequestNames.Field?
    /// Nil: data of an API.
    var parameter: RequestNames.Meaning?
  }

  /// What a name tells, alone and with words before and behind it.
  static let telling: [Row] =
    [
      "access token", "api token", "auth token", "job token", "private token", "id token", "refresh token",
      "session token", "api key", "access key", "client secret", "secret", "password",
      "passwd", "passphrase", "credential", "assertion", "bearer", "jwt", "session id", "client cert", "signature",
    ].map { row($0, .telling(.credential), .credential) }
    + [
      "switch user", "impersonate", "impersonation", "select user", "select admin", "on behalf of", "masquerade",
      "assume role", "effective user",
    ].map { row($0, .telling(.person), .person) }
    + ["http method", "method override", "http verb", "http headers"].map { row($0, .telling(.method), .method) }
    + ["original url", "original uri", "rewrite url", "rest route"].map { row($0, .telling(.path), .path) }
    + ["forwarded", "client ip", "real ip"].map { row($0, nil, nil) }
    + ["principal", "user", "email", "account", "role"].map { row($0, nil, nil) }

  /// What tells something only alone: within a longer name it may be data.
  static let tellingAlone: [Row] =
    ["token", "subscription key", "master key", "auth", "sig", "sid", "pwd", "otp", "hmac", "pat"].map {
      row($0, nil, .credential)
    }
    + ["sudo", "do as", "run as", "act as", "as user"].map { row($0, nil, .person) }

  /// Whole names of parameters, with the mark before them.
  static let marked: [(name: String, meaning: RequestNames.Meaning)] = [
    ("_method", .method), ("$method", .method), (".method", .method), ("_verb", .method), ("$httpMethod", .method),
    ("$httpHeaders", .method), ("_url", .path), ("_path", .path), ("_route", .path), ("_switch_user", .person),
  ]

  /// Words of names that say nothing but what a request is about.
  static let plain = [
    "content", "trace", "format", "language", "version", "time", "note", "custom", "test", "retry", "checksum",
    "upload",
  ]

  private static func row(_ words: String, _ field: RequestNames.Field?, _ parameter: RequestNames.Meaning?) -> Row {
    Row(words: words.split(separator: " ").map(String.init), field: field, parameter: parameter)
  }
}
