internal import AgentModel
internal import AgentOAuth

/// Finds accounts by what lists and sign-ins ask for, without a look at all of them: a sign-in costs the same with ten
/// accounts and with ten thousand.
struct AccountIndex {
  /// A person at a provider.
  private struct Person: Hashable {
    var identity: Identity
    var provider: ProviderName
  }

  /// A refresh token that was imported (`Fingerprint.number`), at a provider.
  private struct ImportedToken: Hashable {
    var token: Int64
    var provider: ProviderName

    init?(of profile: AccountProfile) {
      guard let token = profile.importedToken else { return nil }
      (self.token, provider) = (token, profile.provider)
    }

    init(_ token: Int64, at provider: ProviderName) { (self.token, self.provider) = (token, provider) }
  }

  private var persons: [Person: AccountID] = [:]
  private var imported: [ImportedToken: AccountID] = [:]
  private var erased: [ProviderName: Set<AccountID>] = [:]
  private var named: [String: Set<AccountID>] = [:]

  init(of profiles: some Collection<AccountProfile>) {
    persons.reserveCapacity(profiles.count)
    for profile in profiles { add(profile) }
  }

  mutating func add(_ profile: AccountProfile) {
    if profile.isErased {
      erased[profile.provider, default: []].insert(profile.id)
    } else {
      persons[Person(identity: profile.identity, provider: profile.provider)] = profile.id
    }
    if let token = ImportedToken(of: profile) { imported[token] = profile.id }
    if let alias = profile.alias?.text { named[alias, default: []].insert(profile.id) }
  }

  /// `profile`: as it was added.
  mutating func remove(_ profile: AccountProfile) {
    if profile.isErased {
      erased[profile.provider]?.remove(profile.id)
    } else {
      let person = Person(identity: profile.identity, provider: profile.provider)
      if persons[person] == profile.id { persons[person] = nil }
    }
    if let token = ImportedToken(of: profile), imported[token] == profile.id { imported[token] = nil }
    guard let alias = profile.alias?.text else { return }
    named[alias]?.remove(profile.id)
    if named[alias]?.isEmpty == true { named[alias] = nil }
  }

  /// The account that a person has at a provider, unless it was erased.
  func account(of identity: Identity, at provider: ProviderName) -> AccountID? {
    persons[Person(identity: identity, provider: provider)]
  }

  /// The account whose last import brought this refresh token.
  func account(ofImported token: Int64, at provider: ProviderName) -> AccountID? {
    imported[ImportedToken(token, at: provider)]
  }

  func erased(at provider: ProviderName) -> Set<AccountID> { erased[provider] ?? [] }

  func accounts(named alias: String) -> Set<AccountID> { named[alias] ?? [] }
}
