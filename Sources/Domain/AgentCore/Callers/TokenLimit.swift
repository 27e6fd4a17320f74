internal import AgentModel

/// What the tokens of a limited caller may have (docs/callers.md, Grants); nil for all.
public struct TokenLimit: Hashable, Sendable {
  public var scopes: Set<String>?
  /// The types of authorization details (RFC 9396 §2).
  public var detailTypes: Set<String>?

  public init(scopes: Set<String>? = nil, detailTypes: Set<String>? = nil) {
    self.scopes = scopes
    self.detailTypes = detailTypes
  }

  public static let none = TokenLimit()

  /// True if a token that carries these rights in detail is for the caller.
  public func covers(_ details: AuthorizationDetails?) -> Bool {
    guard let detailTypes, let details else { return true }
    return details.types.allSatisfy(detailTypes.containsExactly)
  }

  public func isWithin(_ other: TokenLimit) -> Bool {
    Self.isWithin(scopes, other.scopes) && Self.isWithin(detailTypes, other.detailTypes)
  }

  static func isWithin(_ one: Set<String>?, _ other: Set<String>?) -> Bool {
    guard let other else { return true }
    return one?.allSatisfy(other.containsExactly) ?? false
  }
}
