/// One file of `methods/`.
public struct Method: Sendable {
  /// When later requests of the same connection may begin.
  public enum Ordering: String, Sendable, CaseIterable {
    case concurrent
    /// Only after this one has been answered.
    case connection
  }

  /// How a grant limits it (README.md, Under a grant).
  public enum UnderGrant: String, Sendable, CaseIterable {
    case account, covered, shared, always, agent
  }

  public struct Example: Sendable {
    public var params: JSONValue
    public var result: JSONValue
  }

  public var name: String
  public var summary: String
  public var description: String?
  public var since: String
  public var feature: String
  public var accountScoped: Bool
  public var underGrant: UnderGrant
  public var ordering: Ordering
  public var idempotent: Bool
  public var carriesBody: Bool
  public var params: Schema
  public var result: Schema
  /// Beside the ones that every method can answer (`errors.json`, `common`).
  public var errors: [String]
  public var examples: [Example]

  /// `token` of `token.get`.
  public var namespace: String { String(name.prefix { $0 != "." }) }
  /// `get` of `token.get`.
  public var verb: String { String(name.drop { $0 != "." }.dropFirst()) }
}

/// One file of `events/`.
public struct EventKind: Sendable {
  public var name: String
  public var summary: String
  public var since: String
  public var accountScoped: Bool
  public var data: Schema
  public var examples: [JSONValue]
}

/// One row of `errors.json`.
public struct ErrorKind: Sendable {
  public var code: Int
  public var name: String
  public var meaning: String
  public var retryable: Bool
  /// Which members of `types/errorData.json` it can have, beside `name` and `retryable`.
  public var data: [String]
}
