internal import AgentCore
package import AgentModel
package import AgentOAuth
internal import AgentPorts
package import AgentRecords
package import AgentSessions
package import AgentStore
internal import AgentVault
package import Secrets

/// Makes accounts of secrets that a person gives (docs/secrets.md). The provider is asked first: a secret that it refuses
/// is not stored.
package struct SecretAdmission: Sendable {
  private let admission: SignInAdmission
  private let expiry: SecretExpiryWatch
  private var dependencies: AccountDependencies { admission.dependencies }

  package init(_ signIns: SignInCoordinator, expiry: SecretExpiryWatch) {
    admission = signIns.admission
    self.expiry = expiry
  }

  /// What a person gives.
  package struct Given: Sendable {
    var secret: Secret
    var username: String?
    var alias: Alias?
    var expiresAt: Timestamp?

    package init(secret: Secret, username: String? = nil, alias: Alias? = nil, expiresAt: Timestamp? = nil) {
      (self.secret, self.username, self.alias, self.expiresAt) = (secret, username, alias, expiresAt)
    }
  }

  /// The bound of a secret, in bytes.
  static let mostBytes = 64 << 10

  /// Adds the secret as an account. The same person at the same provider is the same account, whose secret is replaced.
  ///
  /// - Parameter limits: of the caller, which adds no account and gives a secret to none that it does not cover.
  package func add(
    _ given: Given, at provider: Provider, by limits: EffectiveGrant?
  ) async throws(AgentFailure) -> AccountID {
    let name = provider.configuration.name
    if let alias = given.alias {
      try await dependencies.vault.read { vault throws(AgentFailure) in
        try vault.directory.requirePossible(alias, at: name)
      }
    }
    return try await admit(given, at: provider, for: nil, .accountAdd, by: limits)
  }

  /// Gives an account another secret, and signs it in again if it is signed out. One of another person is refused, and
  /// the account stays as it is.
  package func replace(_ given: Given, of selector: AccountSelector) async throws(AgentFailure) -> AccountID {
    let profile = try await dependencies.vault.profile(selector)
    guard profile.kind == .secret else {
      throw .invalidParameter("/account", expected: "an account that holds a secret")
    }
    let provider = try await dependencies.vault.receiver(ofTokensOf: profile.id)
    var given = given
    given.username = profile.secret?.username ?? given.username
    return try await admit(given, at: provider, for: profile.id, .accountReplace)
  }

  private func admit(
    _ given: Given, at provider: Provider, for expected: AccountID?, _ event: AuditEntry.Event,
    by limits: EffectiveGrant? = nil
  ) async throws(AgentFailure) -> AccountID {
    var given = given
    given.secret = try Self.checked(given.secret)
    if let end = given.expiresAt, end <= dependencies.time.calendarTime(of: provider.configuration.name) {
      throw .invalidParameter("/expiresAt", expected: "an instant that is still to come")
    }
    guard provider.configuration.secret?.whoami != nil else {
      return try await admitChecked(given, at: provider, for: expected, event, by: limits)
    }
    return try await dependencies.introductions.pass(provider.configuration.issuer) {
      [given] () async throws(AgentFailure) in
      try await admitChecked(given, at: provider, for: expected, event, by: limits)
    }
  }

  private func admitChecked(
    _ given: Given, at provider: Provider, for expected: AccountID?, _ event: AuditEntry.Event,
    by limits: EffectiveGrant?
  ) async throws(AgentFailure) -> AccountID {
    let configuration = provider.configuration
    try await admission.groups.requireWritable()
    let hold = await admission.hold(provider)
    defer { hold.end() }
    let (identity, owner) = try await owner(of: given.secret, given.username, at: provider)
    if BackgroundWork.isUnwanted { throw .cancelled }
    let asked = Admission(
      identity: identity, provider: configuration.name, issuedBy: provider.issuingClient, alias: given.alias,
      displayName: owner.displayName, email: owner.email,
      grant: GrantRecord(
        refreshToken: given.secret, generation: 1, memory: GrantMemory(health: .ok), scopes: ScopeSet([]),
        refreshTokenExpiresAt: given.expiresAt),
      idToken: nil, tokens: AccessTokens([]), told: owner.rights(source: .signIn), sentAt: owner.sentAt,
      expected: expected, covered: limits?.permission.accounts, kind: .secret,
      secret: AccountProfile.SecretFacts(username: given.username, expiresAt: given.expiresAt), event: event)
    let admitted = try await admission.groups.admit(asked)
    await admission.settle(admitted, rule: provider.refreshRule, idToken: nil)
    await expiry.look()
    return admitted.profile.id
  }

  /// Whose secret it is, as the provider says; where it can't be asked, a digest of the secret stands for the person.
  private func owner(
    of secret: Secret, _ username: String?, at provider: Provider
  ) async throws(AgentFailure) -> (Identity, SecretOwner) {
    let configuration = provider.configuration
    let tenant = configuration.fixedTenant
    guard configuration.secret?.whoami != nil else {
      let print = secret.withBytes { Array(sha256($0)) }
      let digest = try await dependencies.vault.read { vault throws(AgentFailure) in
        try vault.withRecords { (records) throws(VaultFailure) in
          try records.places().secret(print, at: configuration.name)
        }
      }
      let identity = Identity(secret: digest, issuer: configuration.issuer, tenant: tenant)
      return (identity, SecretOwner(subject: identity.subject, sentAt: dependencies.environment.clock.boot()))
    }
    switch await dependencies.client(of: provider).whoami(secret, username: username) {
    case .confirmed(let owner):
      return (Identity(issuer: configuration.issuer, tenant: tenant, subject: owner.subject), owner)
    case .refused: throw .signIn(.secretRefused)
    // Where the catalogue says how the person is named, an answer without one refuses the secret: some servers answer 200
    // in any case.
    case .unnamed where configuration.secret?.whoami?.subject == provider.preset?.secret?.whoami?.subject:
      throw .signIn(.secretRefused)
    case .unnamed: throw .signIn(.exchange(.misconfigured(ProviderClient.noSubject)))
    case .failed(let failure): throw .signIn(.exchange(failure))
    }
  }

  /// The secret without the line end that files and pastes have at their end.
  private static func checked(_ given: Secret) throws(AgentFailure) -> Secret {
    let length: Int? = given.withBytes { bytes in
      var end = bytes.count
      if bytes[..<end].last == 0x0A { end -= 1 }
      if bytes[..<end].last == 0x0D { end -= 1 }
      let text = UnsafeRawBufferPointer(rebasing: bytes[..<end])
      return !hasControl(text) && (1...mostBytes).contains(end) ? end : nil
    }
    guard let length else {
      throw .invalidParameter(
        "/secret", expected: "1 to \(mostBytes) bytes without control characters; one line end may follow")
    }
    guard length < given.count else { return given }
    return given.withBytes { Secret(copying: UnsafeRawBufferPointer(rebasing: $0[..<length])) }
  }

  /// True for UTF-8 with a control character: of ASCII, or U+0080 to U+009F, of which one ends a line, too.
  private static func hasControl(_ text: UnsafeRawBufferPointer) -> Bool {
    zip(text, text.dropFirst()).contains { $0 == 0xC2 && (0x80...0x9F).contains($1) }
      || text.contains { $0 < 0x20 || $0 == 0x7F }
  }
}

extension RecordPlaces {
  /// A digest by which a secret is recognised where its provider names no person. `print`: its SHA-256, since no copy of
  /// the secret may stay in memory.
  fileprivate func secret(_ print: [UInt8], at provider: ProviderName) -> [UInt8] {
    place("secret", provider.text + "\n" + Base64URL.encode(print))
  }
}
