package import AgentCore
package import AgentModel
package import AgentRecords

/// The coverage of a new grant, as a person or a limited caller asks for it.
package struct CallerGrantRequest: Sendable {
  /// The name of the program that gets the grant.
  var client: String
  var accounts: [AccountSelector]
  var patterns: [MethodPattern]
  /// Nil: as those of the maker's own grant, or all.
  package var scopes: [String]?
  package var resources: [String]?
  /// Nil: as those of the maker's own grant, or as `Permission` says.
  package var detailTypes: [String]?
  /// In their normal form; nil: as those of the maker's own grant, or all.
  package var origins: [String]?
  /// `PassedOrigins.texts`; nil: none, or as those of the maker's own grant.
  package var passOrigins: [String]?
  /// Of other callers' operations that it may claim; nil: as those of the maker's own grant, or all; for an AI
  /// agent none.
  package var capabilities: [String]?
  /// The program is an AI agent; so is one whose maker is.
  package var isForAgent = false
  /// Nil: as long as the maker's own grant, or until it is revoked.
  package var lifetime: Milliseconds?
  /// The grant of the caller that asks; nil for a caller without limits.
  package var maker: EffectiveGrant?

  /// Without a wish for limits of its own.
  package init(client: String, accounts: [AccountSelector], patterns: [MethodPattern]) {
    self.client = client
    self.accounts = accounts
    self.patterns = patterns
  }
}
