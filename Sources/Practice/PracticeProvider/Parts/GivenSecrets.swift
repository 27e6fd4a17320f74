/// The keys that people made for their programs, as on the page of a service.
struct GivenSecrets: Sendable {
  private var owners: [String: Int] = [:]

  /// A new key of a user.
  mutating func make(userIndex: Int, in context: ProviderContext) -> String {
    let secret = "key-" + Base64URL.encode(context.random(18))
    owners[secret] = userIndex
    return secret
  }

  /// False if there is no such key, or none any more.
  mutating func end(_ secret: String) -> Bool { owners.removeValue(forKey: secret) != nil }

  func owner(of secret: String) -> Int? { owners[secret] }
}
