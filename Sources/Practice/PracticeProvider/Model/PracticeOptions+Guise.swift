extension PracticeOptions {
  /// The secret of `confidential`, and of every client of a guise whose clients have one.
  static let practiceSecret = "practice-secret"

  /// Takes a guise: its scopes, its habits and how its clients authenticate. What is set afterwards counts more.
  public mutating func wear(_ guise: Guise) throws {
    self = try changed(by: guise.behaviour)
    self.guise = guise
    signingAlgorithm = guise.algorithm
    // A server of OpenID Connect has scopes for APIs beside those of the person.
    scopes = guise.scopes + (guise.scopes.contains("openid") ? scopes.filter { !guise.scopes.contains($0) } : [])
    dressClients()
  }

  /// Has the clients authenticate as the guise's do; again after a change of the clients.
  public mutating func dressClients() {
    guard let methods = guise?.authentication, !methods.isEmpty else { return }
    for index in clients.indices where clients[index].publicKey == nil {
      clients[index].secret = clients[index].secret ?? Self.practiceSecret
      clients[index].authenticationMethods = methods
    }
  }
}
