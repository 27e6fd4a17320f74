package import AgentCore
package import AgentModel
internal import AgentPorts
package import JSONRPC
internal import SecretJSON
package import Secrets

/// Identifies the person who signed in, and accepts only what is signed or came from the provider itself.
package struct IdentityProof {
  let client: ProviderClient
  let now: Timestamp
  /// The key that the access token is bound to.
  let device: DeviceKey?
  /// Where the keys are kept for the ID tokens of refreshes.
  let keySets: KeySets?
  /// What the authorization request asked for.
  let authentication: RequestedAuthentication

  package init(
    client: ProviderClient, now: Timestamp, device: DeviceKey? = nil, keySets: KeySets? = nil,
    authentication: RequestedAuthentication = RequestedAuthentication()
  ) {
    self.client = client
    self.now = now
    self.authentication = authentication
    self.device = device
    self.keySets = keySets
  }

  package struct Person: Sendable {
    package var identity: Identity
    package var displayName: String?
    package var email: String?
    /// The roles in the answer of userinfo, if the agent asked it for the identity; nil if it did not.
    package var roles: NameSet?
    /// Oddities of the ID token.
    package var warnings: [IDTokenWarning] = []
    /// The ID token that names this person; nil if there is none, or it was not judged.
    package var idToken: Secret?
  }

  /// What one source says of the person, before it is held against the configuration.
  struct Claims {
    var issuer: String?
    var subject: String?
    var tenant: String?
    var name: String?
    var email: String?
    var roles: NameSet?
    var warnings: [IDTokenWarning] = []
  }

  /// `scopes`: those that the sign-in asked for.
  package func identify(
    _ response: TokenResponse, nonce: IDTokenPolicy.Nonce, scopes: [String]
  ) async throws(IdentityFailure) -> Person {
    guard client.provider.configuration.identity == .resource else {
      return try await prove(response, nonce: nonce, scopes)
    }
    return try await proveOrMake(response, nonce: nonce, scopes)
  }

  private func prove(
    _ response: TokenResponse, nonce: IDTokenPolicy.Nonce, _ scopes: [String]
  ) async throws(IdentityFailure) -> Person {
    if let idToken = response.idToken { return try await person(named: idToken, in: response, nonce: nonce, scopes) }
    if case .required = nonce, client.provider.configuration.scopes.contains("openid") {
      throw .idTokenMissing
    }
    guard let accessToken = response.accessToken else {
      throw .accessTokenMissing
    }
    if client.provider.endpoints.userinfo == nil, let endpoint = client.provider.endpoints.introspection {
      return try await patiently { () async throws(IdentityFailure) in
        try await fromIntrospection(accessToken, at: endpoint)
      }
    }
    guard let url = client.provider.endpoints.userinfo else { throw .noEndpoint }
    let found = try await patiently { () async throws(IdentityFailure) in try await userInfo(accessToken, at: url) }
    guard found.claims.subject?.isEmpty == false else { throw .notNamed(.members(found.members)) }
    return try person(found.claims)
  }

  /// For `IdentitySource.resource`: where the server names no person, the agent makes an identity of its own for this
  /// sign-in. An ID token that was not asked for proves nothing, and none is required; one that was asked for and can't
  /// be believed is refused as at any provider.
  private func proveOrMake(
    _ response: TokenResponse, nonce: IDTokenPolicy.Nonce, _ scopes: [String]
  ) async throws(IdentityFailure) -> Person {
    let isOpenID = scopes.contains("openid")
    guard let accessToken = response.accessToken else { throw .accessTokenMissing }
    if isOpenID, let idToken = response.idToken {
      return try await person(named: idToken, in: response, nonce: nonce, scopes)
    }
    // Userinfo is of OpenID Connect (Core §5.3): without the scope it refuses the token.
    if isOpenID, let url = client.provider.endpoints.userinfo,
      let found = try? await patiently({ () async throws(IdentityFailure) in
        try await userInfo(accessToken, at: url)
      }), let person = try? person(found.claims)
    {
      return person
    }
    if let endpoint = client.provider.endpoints.introspection,
      let person = try? await patiently({ () async throws(IdentityFailure) in
        try await fromIntrospection(accessToken, at: endpoint)
      })
    {
      return person
    }
    return Person(
      identity: Identity(
        unproven: client.dependencies.entropy.bytes(Self.madeSubjectBytes),
        issuer: client.provider.configuration.issuer))
  }

  /// Asks again for a document that can't be had now (`DocumentTries`).
  private func patiently<Found>(
    _ ask: () async throws(IdentityFailure) -> Found
  ) async throws(IdentityFailure) -> Found {
    var tries = DocumentTries(at: client.clock.boot())
    while true {
      do throws(IdentityFailure) {
        return try await ask()
      } catch {
        guard let next = error.document.flatMap({ tries.next(after: $0, at: client.clock.boot()) }) else { throw error }
        await client.clock.sleep(until: next)
      }
    }
  }

  /// As an account's id: two are never the same.
  private static let madeSubjectBytes = 16

  private func person(
    named idToken: Secret, in response: TokenResponse, nonce: IDTokenPolicy.Nonce, _ scopes: [String]
  ) async throws(IdentityFailure) -> Person {
    let told = try await fromIDToken(idToken, beside: response.accessToken, nonce: nonce, scopes)
    var person = try person(await completed(told, by: response.accessToken))
    person.idToken = idToken
    return person
  }

  // MARK: ID token (OpenID Connect Core §3.1.3.7)

  private func fromIDToken(
    _ token: Secret, beside accessToken: Secret?, nonce: IDTokenPolicy.Nonce, _ scopes: [String]
  ) async throws(IdentityFailure) -> Claims {
    let configuration = client.provider.configuration
    let parsed: CompactJWT
    do throws(IDTokenFailure) {
      parsed = try token.withBytes { (bytes) throws(IDTokenFailure) in try CompactJWT(parsing: bytes) }
    } catch {
      throw .idTokenInvalid(error)
    }
    guard let keys = try await patiently(keys) else {
      throw .keySetUnnamed(found: client.provider.ignoredEndpoints?.first { $0.name == "jwks" }?.found)
    }
    let claims: IDTokenClaims
    let warnings: [IDTokenWarning]
    do throws(IDTokenFailure) {
      let listed = await client.documents.withAlgorithms(of: [token], keys, into: keySets)
      guard try listed.haveSigned(parsed, by: client.signatures) else { throw .signatureInvalid }
      claims = try IDTokenClaims(parsed, names: claimNames)
      guard let issuer = client.provider.issuer(ofTenant: claims.tenantID) else { throw .issuerMismatch }
      let verdict = IDTokenPolicy.check(
        claims, issuer: issuer, clientID: configuration.clientID, nonce: nonce, now: now,
        maximumAge: authentication.maximumAge, context: authentication.context,
        trustsAudience: { client.provider.trusts(audience: $0, askedWith: scopes) })
      warnings = verdict.warnings
      if let failure = verdict.failures.first { throw failure }
      try requireFit(of: accessToken, to: claims.accessTokenHash, parsed.algorithm)
    } catch {
      throw .idTokenInvalid(error)
    }
    return Claims(
      issuer: claims.issuer, subject: claims.subject, tenant: claims.tenant,
      name: claims.name ?? claims.preferredUsername, email: claims.email, warnings: warnings)
  }

  /// The access token is the one that the ID token came with (OpenID Connect Core §3.1.3.8), where it says so. Some
  /// servers pad the hash.
  private func requireFit(
    of accessToken: Secret?, to hash: String?, _ algorithm: SignatureAlgorithm
  ) throws(IDTokenFailure) {
    guard let hash, let accessToken else { return }
    let half = accessToken.withBytes { client.signatures.halfHash($0, algorithm: algorithm) }
    guard let half, Base64URL.decodeLeniently(hash.utf8) == half else { throw .accessTokenMismatch }
  }

  var claimNames: ClaimNames {
    let configuration = client.provider.configuration
    var tenant = configuration.authorization.tenantClaim
    if case .claim(let name)? = configuration.tenant { tenant = name }
    return ClaimNames(tenant: tenant)
  }

  /// Read anew for each sign-in, which is as rare as a key change: nothing to go stale.
  private func keys() async throws(IdentityFailure) -> IssuerKeys? {
    do throws(DocumentFailure) {
      return try await client.documents.readKeys(into: keySets)
    } catch {
      switch error {
      case .malformed, .page: throw .idTokenInvalid(.keySetMalformed)
      default: throw .keysUnread(error)
      }
    }
  }

  // MARK: userinfo (OpenID Connect Core §5.3)

  /// For what the ID token leaves out: the person waits in front of the browser.
  private static let userInfoTimeout = Milliseconds.seconds(10)

  /// Userinfo is asked for name, e-mail and tenant where the ID token does not name them. An answer that does not name
  /// the same subject must not be used (§5.3.2); without an answer the person is known all the same.
  private func completed(_ told: Claims, by accessToken: Secret?) async -> Claims {
    guard told.name == nil || told.email == nil || told.tenant == nil && claimNames.tenant != nil,
      let accessToken, let url = client.provider.endpoints.userinfo
    else { return told }
    // Without a tenant that the configuration expects, the sign-in fails.
    let isNeeded = if case .claim? = client.provider.configuration.tenant { told.tenant == nil } else { false }
    let ask = { () async throws(IdentityFailure) in
      try await userInfo(accessToken, at: url, for: Self.userInfoTimeout)
    }
    guard let answer = try? await (isNeeded ? patiently(ask) : ask()),
      let subject = answer.sub, told.subject.map({ equalCodePoints($0, subject) }) == true
    else { return told }
    let found = answer.claims
    var whole = told
    whole.tenant = told.tenant ?? found.tenant
    whole.name = told.name ?? found.name
    whole.email = told.email ?? found.email
    whole.roles = found.roles
    return whole
  }

  /// The claims, `sub` itself, and the answer's members for a person to be told.
  private func userInfo(
    _ accessToken: Secret, at url: String, for timeout: Milliseconds? = nil
  ) async throws(IdentityFailure) -> (claims: Claims, sub: String?, members: String) {
    let documents = client.documents
    let fetched = await documents.fetch(
      documents.userInfoRequest(url, timeout: timeout), authorizedBy: AccessCredential(accessToken, boundTo: device))
    let json: Secret
    do throws(DocumentFailure) {
      json = try documents.body(of: fetched)
    } catch {
      throw .notNamed(.document(error))
    }
    let claims: Secret
    do throws(UserInfoFailure) {
      claims = try await documents.userInfoClaims(json, keySets)
    } catch {
      throw .notNamed(.userInfo(error))
    }
    let names = claimNames
    let rolesClaim = client.provider.configuration.authorization.rolesClaim
    let read = ProviderJSON.read(claims, duplicateKeys: .refused) { node -> (Claims, String?, String)? in
      guard node.kind == .object else { return nil }
      var found = Claims()
      found.subject = node.subject(namedBy: client.provider.preset)
      found.tenant = names.tenant.flatMap { node.text(ofMember: $0) }
      let names: [StaticString] = ["name", "display_name", "login", "preferred_username", "username"]
      found.name = names.lazy.compactMap { node[$0]?.string }.first
      found.email = node["email"]?.string
      if rolesClaim != nil { found.roles = RightsClaims(node, rolesClaim: rolesClaim).roles ?? [] }
      return (found, node["sub"]?.string, node.membersForPeople)
    }
    guard let read else { throw .notNamed(.userInfo(.malformed)) }
    return read
  }

  func person(_ told: Claims) throws(IdentityFailure) -> Person {
    guard let subject = Identity.subject(named: told.subject) else { throw .subjectMissing }
    let configuration = client.provider.configuration
    var known = told.tenant
    if case .value(let value)? = configuration.tenant { known = value }
    if known.map(MendedText.isDoubtful) == true { known = nil }
    if case .claim? = configuration.tenant, known == nil {
      throw .tenantMissing
    }
    // Names are for show: cut rather than refused.
    return Person(
      identity: Identity(issuer: told.issuer ?? configuration.issuer, tenant: known, subject: subject),
      displayName: told.name.map { String($0.prefix(128)) },
      email: told.email.flatMap { $0.utf8.count <= 320 ? $0 : nil }, roles: told.roles, warnings: told.warnings)
  }
}

extension IDTokenIdentity {
  /// What a stored ID token says; nil if it can't be read.
  package static func read(_ token: Secret) -> IDTokenIdentity? {
    token.withBytes { bytes in
      (try? CompactJWT(parsing: bytes)).flatMap { try? IDTokenClaims($0) }.flatMap { IDTokenIdentity($0) }
    }
  }
}

extension JSONNode {
  /// The text of a member whose name is configured.
  package func text(ofMember name: String) -> String? {
    members.first { equalCodePoints($0.key.string, name) }?.value.string
  }
}
