public import AgentModel

/// What is known of a service that people have accounts at: where its interfaces are, what a program does there, and how
/// a secret of it is used (docs/providers.md, The catalogue).
///
/// The entries are data: `Schemas/presets`, rendered as text that is read when an entry is asked for, so that a start
/// costs nothing. How a sign-in goes is in the `ProviderPreset` of the same name.
public struct CatalogueEntry: Hashable, Sendable {
  public let name: String
  /// The service's own name.
  public let title: String
  public let kind: AccountKind
  public let categories: [String]
  /// Words in capitals are the customer's (`IssuerTemplate`), until `filled(at:)`.
  public internal(set) var allowedOrigins: [String]
  /// How a secret is used; nil but for the kind `secret`.
  public internal(set) var secret: SecretSettings?
  /// Variables of the environment in which the service's own programs find the secret.
  public let environment: [String]
  /// The user name that git, docker and others get with the secret; nil: the account's, or none.
  public let username: String?
  /// Where a person makes a secret, or registers a client.
  public let page: String?
  /// Scopes and what each lets a program do, ordered by name.
  public let scopes: [Scope]
  public internal(set) var operations: [Operation]

  /// A scope of OAuth.
  public struct Scope: Hashable, Sendable {
    public let name: String
    public let meaning: String
  }

  /// Something that a program does at the service, by the requests that do it.
  public struct Operation: Hashable, Sendable {
    public let name: String
    public let kind: Kind
    public let methods: [String]
    /// As in `requests` of a policy (`RequestRule.Pattern`).
    public let path: String
    public internal(set) var origin: String

    public enum Kind: String, CaseIterable, Hashable, Sendable { case read, write, delete }
  }

  /// The entry with this name; nil if there is none.
  public static func named(_ name: String) -> CatalogueEntry? { text(of: name).flatMap(CatalogueEntry.init(reading:)) }

  /// All entries, ordered by name. Each call reads them anew.
  public static var all: [CatalogueEntry] { names.compactMap(named) }

  /// The customer has a host of their own, which `allowedOrigins` leaves open.
  public var needsOrigin: Bool { allowedOrigins.contains { !IssuerTemplate($0).isComplete } }

  /// The provider confirms its accounts by itself, so that a confirmation can be as young as a policy wants.
  public var confirms: Bool { kind != .secret || secret?.whoami != nil }

  /// The entry of a customer whose provider has these origins; the first says which host is the customer's. Nil if it
  /// does not fit.
  public func filled(at origins: [String]) -> CatalogueEntry? {
    guard needsOrigin else { return self }
    guard let own = origins.first.flatMap(RequestTarget.origin) else { return nil }
    // A server on this machine may do without TLS.
    let isPlain = own.hasPrefix("http://")
    let https = isPlain ? "https" + own.dropFirst("http".count) : own
    guard let words = IssuerTemplate(allowedOrigins[0]).words(of: https), let entry = filled(with: words) else {
      return nil
    }
    return isPlain ? entry.mapped { $0.hasPrefix(https) ? own + $0.dropFirst(https.count) : $0 } : entry
  }

  /// The entry of the customer with these words; nil if one is missing.
  public func filled(with words: [String: String]) -> CatalogueEntry? {
    mapped { IssuerTemplate($0).filled(with: words) }
  }

  /// The entry with other addresses; nil if one of them is none.
  private func mapped(_ change: (String) -> String?) -> CatalogueEntry? {
    var entry = self
    entry.allowedOrigins = allowedOrigins.compactMap(change)
    guard entry.allowedOrigins.count == allowedOrigins.count else { return nil }
    for index in operations.indices {
      guard let origin = change(operations[index].origin) else { return nil }
      entry.operations[index].origin = origin
    }
    if let whoami = secret?.whoami {
      guard let url = change(whoami.url) else { return nil }
      entry.secret?.whoami?.url = url
    }
    if let revoke = secret?.revoke {
      guard let url = change(revoke.url) else { return nil }
      entry.secret?.revoke?.url = url
    }
    return entry
  }

  /// The entry as the provider has it that was added with these settings. Its own origins are where the service is, such as a
  /// gateway of the same interface: an operation elsewhere is at the one that stands in that one's place, else at the first.
  public func served(by provider: ProviderConfiguration) -> CatalogueEntry {
    var entry = self
    if provider.kind == .secret { entry.secret = provider.secret }
    let origins = provider.allowedOrigins.compactMap { RequestTarget.origin($0) }
    guard let first = origins.first else { return entry }
    for (index, operation) in operations.enumerated() where !origins.contains(operation.origin) {
      let place = allowedOrigins.firstIndex(of: operation.origin) ?? 0
      entry.operations[index].origin = origins.indices.contains(place) ? origins[place] : first
    }
    return entry
  }

  /// How a secret is used at a provider with these origins. A question that the service answers elsewhere is left out: the
  /// secret goes to these and nowhere else.
  public func secret(at origins: [String]) -> SecretSettings? {
    guard var secret = (filled(at: origins) ?? self).secret else { return nil }
    let allowed = RequestTarget.origins(origins)
    func isThere(_ url: String) -> Bool { (try? RequestTarget(url, allowedOrigins: allowed)) != nil }
    if let whoami = secret.whoami, !isThere(whoami.url) { secret.whoami = nil }
    if let revoke = secret.revoke, !isThere(revoke.url) { secret.revoke = nil }
    return secret
  }
}

extension CatalogueEntry {
  /// True if a person who looks for `word` may mean this service: by its name, title, host, category, or a variable of
  /// the environment. Capitals do not count; a short word has to begin one of theirs.
  public func isFound(by word: String) -> Bool {
    let word = word.lowercased()
    guard !word.isEmpty else { return false }
    if categories.contains(word) { return true }
    let texts = ([name, title] + allowedOrigins.map { String($0.dropFirst("https://".count)) } + environment)
      .map { $0.lowercased() }
    return texts.contains { text in
      word.utf8.count >= Self.shortestPart && text.contains(word)
        || text.split { !$0.isLetter && !$0.isNumber }.contains { $0.hasPrefix(word) }
    }
  }

  /// Three letters stand in the middle of too many words.
  private static let shortestPart = 4
}
