package import AgentModel

/// Something that a backup or a restore left out, and why.
package struct SkippedItem: Hashable, Sendable {
  package enum Kind: String, CaseIterable, Sendable { case account, provider, policy, alias, refreshToken }

  package enum Reason: String, CaseIterable, Sendable {
    /// The store has one already, and keeps it.
    case alreadyThere
    /// Another account has the alias.
    case nameTaken
    /// The store's provider of that name is another one.
    case providerDiffers
    /// Its record does not open.
    case damaged
    /// The account is signed in here.
    case inUse
    /// The store has as many as it takes.
    case tooMany
  }

  package var kind: Kind
  /// The name of a provider or policy, an alias, or an account's id.
  package var name: String
  /// The account that it belongs to, if any.
  package var account: AccountID?
  package var reason: Reason
}
