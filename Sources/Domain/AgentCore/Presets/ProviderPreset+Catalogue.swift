public import AgentModel

/// What the catalogue says of a preset. It is read with each call.
extension ProviderPreset {
  /// Each preset has an entry (`CatalogueTests`).
  public var catalogue: CatalogueEntry? { CatalogueEntry.named(name) }

  /// How a secret is used; nil but for the kind `secret`.
  public var secret: SecretSettings? { catalogue?.secret }

  /// Words in capitals are the customer's.
  public var allowedOrigins: [String] { catalogue?.allowedOrigins ?? [] }

  /// The user name that git, docker and others get with the secret.
  public var username: String? { catalogue?.username }

  /// Where a person makes a secret, or registers a client. Words in capitals are the customer's.
  public var page: String? { catalogue?.page }
}
