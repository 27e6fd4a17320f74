/// A method: one file of `methods/`.
public struct Method: Sendable {
  /// When later requests on the same connection may start.
  public enum Ordering: String, Sendable, CaseIterable {
    case concurrent
    /// Only after the response to this one.
    case connection
  }

  /// A grant's restriction of a method (Schemas/README.md, Under a grant).
  public enum UnderGrant: String, Sendable, CaseIterable {
    case account, covered, shared, always, agent, never
  }

  /// Params and a matching result.
  public struct Example: Sendable {
    public var params: JSONValue
    public var result: JSONValue
  }

  /// The name, such as `token.get`.
  public var name: String
  /// One sentence.
  public var summary: String
  /// Further sentences; nil if there are none.
  public var description: String?
  /// The protocol version that introduced the method.
  public var since: String
  /// The method's group in `features` of `agent.hello`.
  public var feature: String
  /// True if params require an `account` and the result contains the account's id.
  public var accountScoped: Bool
  /// The grant's restriction of the method.
  public var underGrant: UnderGrant
  /// When later requests on the same connection may start.
  public var ordering: Ordering
  /// True if a repeated request has no further effect.
  public var idempotent: Bool
  /// True if the request line may be as long as a body.
  public var carriesBody: Bool
  /// The schema of `params`, a closed object.
  public var params: Schema
  /// The schema of `result`, an open object or a map.
  public var result: Schema
  /// Names of the method's errors, besides those of `common` in `errors.json`.
  public var errors: [String]
  /// At least one example.
  public var examples: [Example]

  /// The part before the dot: `token` of `token.get`.
  public var namespace: String { String(name.prefix { $0 != "." }) }
  /// The part after the dot: `get` of `token.get`.
  public var verb: String { String(name.drop { $0 != "." }.dropFirst()) }
}

/// An event: one file of `events/`.
public struct EventKind: Sendable {
  /// The name, such as `token.refreshed`.
  public var name: String
  /// One sentence.
  public var summary: String
  /// The protocol version that introduced the event.
  public var since: String
  /// True if the notification contains the account's id.
  public var accountScoped: Bool
  /// The schema of `data`, an object.
  public var data: Schema
  /// At least one example of `data`.
  public var examples: [JSONValue]
}

/// An error: one entry of `errors.json`.
public struct ErrorKind: Sendable {
  /// `error.code` on the wire.
  public var code: Int
  /// `error.data.name` on the wire.
  public var name: String
  /// One sentence.
  public var meaning: String
  /// True if the same request may succeed later without the person.
  public var retryable: Bool
  /// Members of `types/errorData.json` that the error may have, besides `name` and `retryable`.
  public var data: [String]
}
