internal import AgentCore
internal import AgentModel

/// What a person, or a limited caller, wants a grant to cover.
struct CallerGrantRequest: Sendable {
  /// The name of the program that gets the grant.
  var client: String
  var accounts: [AccountSelector]
  var patterns: [MethodPattern]
  /// Nil: as long as the maker's own grant, or until it is revoked.
  var lifetime: Milliseconds?
  /// The grant of the caller that asks; nil for a caller without limits.
  var maker: EffectiveGrant?
}
