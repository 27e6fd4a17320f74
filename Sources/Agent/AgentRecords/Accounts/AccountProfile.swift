package import AgentCore
package import AgentModel
package import AgentOAuth
package import AgentPorts
package import AgentVault
internal import JSONRPC
internal import SecretJSON
package import Secrets

extension DeclaredKind {
  /// The identity of an account, for lists and look-ups.
  package static let profile = DeclaredKind(3, under: .directory, .counted)
}

/// The identity of an account, for lists and look-ups. Stored apart from its tokens, so that it stays readable when
/// they are gone or sealed.
package struct AccountProfile: Sendable, Hashable {
  package enum SignInStatus: String, Sendable { case signedIn, signedOutSoft, signedOutHard }

  package var id: AccountID
  /// The partition of this incarnation's records; a new incarnation gets new keys.
  package var partition: PartitionID
  /// Of an erased account, a keyed digest in place of the subject, and no tenant.
  package var identity: Identity
  /// A hard sign-out erased whose account it is (docs/sign-out.md, Modes).
  package private(set) var isErased = false
  package var provider: ProviderName
  /// What it holds.
  package var kind = AccountKind.openid
  /// Of an account that holds a secret.
  @Rare package var secret: SecretFacts? = nil
  package var alias: Alias?
  package var displayName: String?
  package var email: String?
  /// The refresh token that its last import brought (`Fingerprint.number`), also after later refreshes: a provider that
  /// rotates ends the session if it comes back (RFC 9700 §4.14.2).
  package var importedToken: Int64?
  package var signInStatus: SignInStatus
  /// A proof of presence is enrolled, which keeps the data sealed after a soft sign-out (docs/sign-out.md, Modes).
  package var hasStepUp = false
  /// The last known health of the grant, so that lists need not open the grant.
  package var health: TokenMachine.Health
  var needsInteraction: Bool
  /// The outcome of the last request is unknown, and that costs the person nothing yet (`GrantState.isDoubtHarmless`).
  var isDoubtHarmless = false
  /// As the grant has it, for lists; nil for bearer tokens and while signed out.
  package var tokenBinding: TokenBinding?
  /// The client and the server that issued the account's tokens.
  package var issuedBy: IssuingClient
  /// Its provider is another client or server now, to which none of its tokens goes: the person signs in there, or the
  /// configuration comes back.
  package var isIssuedElsewhere = false
  /// When the state shown in lists began, on the provider's timeline.
  package var stateSince: Timestamp?
  /// Grows with each sign-out, so that late answers are detected.
  package var epoch: UInt64
  package var createdAt: Timestamp
  /// When the provider last confirmed the account, on the provider's timeline: offline windows begin here.
  package var lastOnlineAuthAt: TrustedInstant?
  /// When the provider last saw the person sign in, by the machine's clocks.
  package var signedInAt: TrustedInstant?

  /// What the person told of a secret, beside the secret itself.
  package struct SecretFacts: Sendable, Hashable {
    /// The user name that goes with it.
    package var username: String?
    /// When it ends, as it was told.
    package var expiresAt: Timestamp?
    /// The last reminder of its end, also one whose moment had passed when the end was told.
    package var reminded: ExpiryReminder?

    package init(username: String? = nil, expiresAt: Timestamp? = nil, reminded: ExpiryReminder? = nil) {
      (self.username, self.expiresAt, self.reminded) = (username, expiresAt, reminded)
    }
  }

  package var record: Secret {
    SecretJSON.write { writer in
      writer.member("id", id.text)
      writer.member("issuer", identity.issuer)
      if isErased { writer.member("erased", 1) }
      writer.member("tenant", identity.tenant)
      writer.member("subject", identity.subject)
      writer.member("provider", provider.text)
      if kind != .openid { writer.member("kind", kind.rawValue) }
      if let secret {
        writer.member("username", secret.username)
        writer.member("expiresAt", secret.expiresAt?.milliseconds)
        writer.member("reminded", secret.reminded?.rawValue)
      }
      writer.member("alias", alias?.text)
      writer.member("displayName", displayName)
      writer.member("email", email)
      // As text: a number of JSON has 53 bits.
      writer.member("importedToken", importedToken.map(String.init))
      writer.member("standing", signInStatus.rawValue)
      let (word, detail) = health.words
      writer.member("health", word)
      writer.member("healthDetail", detail)
      if needsInteraction { writer.member("needsInteraction", 1) }
      if isDoubtHarmless { writer.member("isDoubtHarmless", 1) }
      writer.member("tokenBinding", tokenBinding?.rawValue)
      issuedBy.write(to: &writer, as: "issuedBy")
      if isIssuedElsewhere { writer.member("issuedElsewhere", 1) }
      writer.member("stateSince", stateSince?.milliseconds)
      if hasStepUp { writer.member("hasStepUp", 1) }
      writer.member("epoch", Int64(epoch))
      writer.member("createdAt", createdAt.milliseconds)
      writer.member("lastOnlineAuthAt", lastOnlineAuthAt?.time.milliseconds)
      writer.member("lastOnlineAuthLived", lastOnlineAuthAt?.lived.count)
      writer.member("signedInAt", signedInAt?.time.milliseconds)
      writer.member("signedInLived", signedInAt?.lived.count)
    }
  }

  init(
    id: AccountID, partition: PartitionID, identity: Identity, provider: ProviderName, issuedBy: IssuingClient,
    createdAt: Timestamp
  ) {
    self.id = id
    self.partition = partition
    self.identity = identity
    self.provider = provider
    self.issuedBy = issuedBy
    self.createdAt = createdAt
    signInStatus = .signedIn
    health = .ok
    needsInteraction = false
    epoch = 1
  }

  package init?(_ plain: Secret, partition: PartitionID) {
    let read = SecretJSON.read(plain) { node -> AccountProfile? in
      guard let id = node["id"]?.string.flatMap({ AccountID($0) }), let issuer = node["issuer"]?.string,
        let subject = node["subject"]?.string, let provider = node["provider"]?.string.flatMap({ ProviderName($0) }),
        let signInStatus = node["standing"]?.string.flatMap({ SignInStatus(rawValue: $0) }),
        let issuedBy = node["issuedBy"].flatMap({ IssuingClient($0) }), let epoch = node["epoch"]?.integer,
        let createdAt = node["createdAt"]?.timestamp
      else { return nil }
      var profile = AccountProfile(
        id: id, partition: partition,
        identity: Identity(issuer: issuer, tenant: node["tenant"]?.string, subject: subject), provider: provider,
        issuedBy: issuedBy, createdAt: createdAt)
      profile.isErased = node["erased"] != nil
      profile.kind = node["kind"]?.string.flatMap { AccountKind(rawValue: $0) } ?? .openid
      if profile.kind == .secret {
        profile.secret = SecretFacts(
          username: node["username"]?.string, expiresAt: node["expiresAt"]?.timestamp,
          reminded: node["reminded"]?.string.flatMap { ExpiryReminder(rawValue: $0) })
      }
      profile.alias = node["alias"]?.string.flatMap { Alias($0) }
      profile.displayName = node["displayName"]?.string
      profile.email = node["email"]?.string
      profile.importedToken = node["importedToken"]?.string.flatMap { Int64($0) }
      profile.signInStatus = signInStatus
      profile.health =
        node["health"]?.string.flatMap { .init(word: $0, detail: node["healthDetail"]?.string) } ?? .ok
      profile.needsInteraction = node["needsInteraction"] != nil
      profile.isDoubtHarmless = node["isDoubtHarmless"] != nil
      profile.tokenBinding = node["tokenBinding"]?.string.flatMap { TokenBinding(rawValue: $0) }
      profile.isIssuedElsewhere = node["issuedElsewhere"] != nil
      profile.stateSince = node["stateSince"]?.timestamp
      profile.hasStepUp = node["hasStepUp"] != nil
      profile.epoch = UInt64(clamping: epoch)
      profile.lastOnlineAuthAt = node["lastOnlineAuthAt"]?.timestamp.map {
        TrustedInstant(time: $0, lived: Milliseconds(node["lastOnlineAuthLived"]?.integer ?? 0))
      }
      profile.signedInAt = node["signedInAt"]?.timestamp.map {
        TrustedInstant(time: $0, lived: Milliseconds(node["signedInLived"]?.integer ?? 0))
      }
      return profile
    }
    guard let read else { return nil }
    self = read
  }
}

extension AccountProfile {
  /// As a person knows it.
  package var shown: String { alias?.text ?? email ?? id.text }

  /// Nothing readable stays of the person: the id, the provider and a digest, by which the same person lands on this
  /// account again.
  mutating func erase(as digest: [UInt8]) {
    identity = Identity(erased: digest, issuer: identity.issuer)
    (alias, displayName, email, lastOnlineAuthAt, signedInAt) = (nil, nil, nil, nil, nil)
    (secret, importedToken) = (nil, nil)
    hasStepUp = false
    isErased = true
  }

  /// The person has signed in again.
  mutating func identify(as identity: Identity) {
    self.identity = identity
    isErased = false
  }

  /// Refers to the texts of another account where they are the same: those of one provider's accounts are, and each
  /// copy would take memory of its own.
  mutating func shareTexts(of other: AccountProfile) {
    identity.issuer = identity.issuer.shared(with: other.identity.issuer)
    guard provider == other.provider else { return }
    issuedBy.issuer = issuedBy.issuer.shared(with: other.issuedBy.issuer)
    issuedBy.clientID = issuedBy.clientID.shared(with: other.issuedBy.clientID)
    if let endpoint = other.issuedBy.tokenEndpoint {
      issuedBy.tokenEndpoint = issuedBy.tokenEndpoint?.shared(with: endpoint)
    }
  }

  /// Copies the facts that lists show before the account's grant is opened.
  package mutating func remember(_ memory: GrantMemory, isDoubtHarmless: Bool = false) {
    health = memory.health
    needsInteraction = !memory.interactions.isEmpty
    self.isDoubtHarmless = isDoubtHarmless
    if health == .signedOut { tokenBinding = nil }
  }

  /// Records the beginning of the account's state after a change. `previous`: the state that was told last.
  mutating func noteState(after previous: AccountState?, at now: Timestamp) {
    if restingState != previous || stateSince == nil { stateSince = now }
  }

  /// The protection of the account's data while it is signed out; nil if the data was erased.
  package var dataProtection: DataProtection? {
    guard signInStatus != .signedOutHard else { return nil }
    return hasStepUp ? .pin : .vault
  }

  /// Data that a soft sign-out put away until the same person signs in again, without a PIN, of an account whose person
  /// nothing proves: it stays sealed for good (docs/sign-out.md, Modes).
  var isSealedForGood: Bool { signInStatus == .signedOutSoft && identity.isUnproven && !hasStepUp }

  /// A sign-in shows that its person is there, since the provider names them. Secrets and clients come from programs.
  var isProvenBySignIn: Bool { kind == .openid && !identity.isUnproven }

  /// Signed in here, and as far as is known the provider has not ended the session.
  package var hasLivingSession: Bool {
    guard signInStatus == .signedIn, !isIssuedElsewhere else { return false }
    return if case .reauthenticate = health { false } else { true }
  }

  /// The stored state says that the end of its secret has come. Time may have been set back since.
  package var isStoredAsEnded: Bool { health == .reauthenticate(reason: TokenMachine.secretExpired) }

  /// The state of an account that is not in memory.
  package var restingState: AccountState {
    AccountState(
      health: signInStatus == .signedIn ? health : .signedOut, isIssuedElsewhere: isIssuedElsewhere,
      needsPerson: needsInteraction, isOffline: false, isDoubtHarmless: isDoubtHarmless)
  }
}

extension String {
  /// `other`, if it has the same bytes: then the two take the memory of one.
  package func shared(with other: String) -> String { equalCodePoints(self, other) ? other : self }
}

extension Identity {
  /// An identity that can be recognised, and not read.
  init(erased digest: [UInt8], issuer: String) {
    self.init(issuer: issuer, tenant: nil, subject: "erased:" + Base32.encode(digest))
  }
}
