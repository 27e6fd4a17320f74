import Foundation
import SchemaKit
import Testing

/// `Schemas/` has the methods that the contract promises, with their members.
struct ContractTests {
  /// Method, params and result, written down a second time: `?` optional, `!` secret.
  private static let rows = """
    rpc.discover
    agent.hello client protocol? grant?!
    agent.status
    agent.initialize protection passphrase?!
    agent.lock
    agent.unlock passphrase?! prompt?
    agent.addKeySlot protection passphrase?! prompt?
    agent.removeKeySlot slot
    agent.listKeySlots
    agent.rotateRootKey
    agent.backup path passphrase?! prompt? includeRefreshTokens?
    agent.restore path passphrase?! prompt?
    agent.diagnose askProviders? provider?
    agent.shutdown
    metrics.read
    provider.add name kind? placement? whoami? revoke? machine? environment? issuer? clientId? clientSecret?! clientKey?! tokenEndpointAuthMethod? scopes? resources? authorizationParameters? endpoints? redirect? refresh? narrowing? dpop? requirePkce? identity? errorCodes? tenant? authorization? revocationScope? postLogoutRedirectUri? persistAccessTokens? allowedOrigins? allowedFields? pins? pinsExpireAt? caFile? proxy? policy? preset?
    provider.list
    provider.get provider
    provider.update provider placement? whoami? revoke? environment? issuer? clientId? clientSecret?! clientKey?! tokenEndpointAuthMethod? scopes? resources? authorizationParameters? endpoints? redirect? refresh? narrowing? dpop? requirePkce? identity? errorCodes? tenant? authorization? revocationScope? postLogoutRedirectUri? persistAccessTokens? allowedOrigins? allowedFields? pins? pinsExpireAt? caFile? proxy? policy? preset?
    provider.remove provider
    provider.test provider
    provider.discover url exact? caFile? proxy?
    signIn.begin provider flow scopes? account? alias? prompt? acrValues? maxAgeSeconds? claims? authorizationDetails? announce? openBrowser?
    signIn.wait signIn timeoutSeconds?
    signIn.complete signIn redirectUrl!
    signIn.cancel signIn
    signIn.import provider refreshToken! alias?
    account.add provider secret?! username? alias? expiresAt?
    account.replace account secret! username? expiresAt?
    account.list
    account.get account
    account.switch account
    account.rename account alias
    account.resolve selector? preferred? workingDirectory? issuer? url? user?
    account.signOut account mode revocationTimeoutSeconds?
    account.forget account
    rule.add pattern account
    rule.list
    rule.remove rule
    session.get account
    token.get account scopes? exactScopes? resource? minimumLifetimeSeconds? timeoutSeconds?
    token.refresh account scopes? exactScopes? resource? minimumLifetimeSeconds? timeoutSeconds?
    token.reject account fingerprint challenge?
    token.exchange account audience? resource? scopes? requestedTokenType? authorizationDetails? timeoutSeconds?
    identity.get account minimumLifetimeSeconds? timeoutSeconds?
    credential.aws account roleArn sessionName? durationSeconds? endpoint? timeoutSeconds?
    exec.begin account program
    token.proof account method url fingerprint? nonce?
    request.authorize account method url hasBody? origins? grant? accounts? rejected? challenge? nonce? scopes? resource? trust? prompt? timeoutSeconds?
    request.pass origin grant? passOrigins? sentBytes? receivedBytes?
    request.send account method url headers? body? bodyBase64? idempotencyKey? allowAuthRetry? timeoutSeconds? scopes? resource?
    authorization.check account capability context? waitSeconds?
    authorization.checkMany account capabilities waitSeconds?
    snapshot.get account
    snapshot.refresh account
    policy.get name
    policy.set name policy
    policy.validate name? policy
    policy.list
    policy.draft provider allow confirm? perHour?
    policy.explain account capability at? assume?
    policy.refresh
    stepUp.enroll account pin?! prompt? method?
    stepUp.verify account pin?! prompt? method? durationSeconds?
    stepUp.status account
    stepUp.clear account
    stepUp.unenroll account
    secret.put account name value!
    secret.get account name
    secret.list account
    secret.remove account name
    operation.enqueue account capability request? label? idempotencyKey? retryWithinSeconds? expiresAt? payload?
    operation.list account status? after? limit?
    operation.get account operation
    operation.cancel account operation
    operation.retry account operation
    operation.claim account operation? capability? leaseSeconds?
    operation.settle account operation claim? outcome? detail?
    revocation.list
    revocation.retry revocation?
    revocation.abandon revocation
    connectivity.get
    connectivity.report online
    event.subscribe types? accounts? since?
    event.unsubscribe subscription
    audit.list account? after? before? limit?
    audit.verify account? after? limit?
    grant.create client accounts methods scopes? resources? origins? passOrigins? authorizationDetailTypes? capabilities? agent? expiresInSeconds?
    grant.list
    grant.revoke grant
    approval.list
    approval.decide approval verdict
    access.request origins methods? capabilities? reason
    access.list
    access.decide request verdict expiresInSeconds?
    """

  @Test func missingFolder_isNamedInASentence() {
    #expect {
      try Contract(directory: URL(filePath: "/nonexistent/Schemas"))
    } throws: { error in
      "\(error)" == "/nonexistent/Schemas: is no folder that can be read"
    }
  }

  @Test func methodParams_matchTheTable() {
    let contract = RepositoryFixture.contract
    let told = contract.methods.map { method in
      let members = contract.resolved(method.params).object?.members ?? []
      let words = members.map { member in
        member.name + (member.isRequired ? "" : "?") + (contract.resolved(member.schema).isSecret ? "!" : "")
      }
      return ([method.name] + words).joined(separator: " ")
    }
    #expect(told == Self.rows.split(separator: "\n").map(String.init))
  }

  /// The members of each result.
  @Test(arguments: [
    ("agent.hello", "agent protocol instance schemaDigest features limits"),
    (
      "agent.status",
      "locked protection connectivity accounts? pendingRevocations pendingOperations connections startedAt version"
    ),
    ("agent.lock", "locked"), ("agent.unlock", "locked"), ("provider.add", "provider"),
    (
      "signIn.begin",
      "signIn flow authorizationUrl? verificationUri? verificationUriComplete? userCode? expiresAt intervalSeconds?"
    ),
    ("signIn.wait", "status account?"), ("signIn.complete", "status account?"), ("signIn.import", "account"),
    ("account.add", "account"), ("account.replace", "account"),
    ("account.list", "accounts active?"),
    (
      "account.get",
      "id alias? kind? provider issuer tenant? subject displayName? email? username? expiresAt? state active createdAt lastOnlineAuthAt?"
    ),
    ("metrics.read", "at startedAt version locked counters gauges histograms"),
    ("account.switch", "active previous?"), ("account.resolve", "account because"),
    ("account.signOut", "account mode data revocation endSessionUrl?!"),
    (
      "session.get",
      "state freshness accessTokenExpiresAt? refreshTokenExpiresAt? lastOnlineAuthAt? offlineGraceUntil? scopes roles refresh serverTimeOffsetMs? clock stepUpValidUntil? deviceKeyId? generation"
    ),
    (
      "token.get",
      "accessToken! tokenType placement? expiresAt expiresInSeconds account issuer scopes resource? source fingerprint generation"
    ),
    ("identity.get", "idToken! expiresAt expiresInSeconds audience issuer account"),
    ("credential.aws", "accessKeyId secretAccessKey! sessionToken! expiresAt expiresInSeconds account"),
    ("exec.begin", "account"),
    ("request.authorize", "account accessToken! tokenType placement? proof!? fingerprint expiresAt decision?"),
    ("request.send", "status headers body? bodyBase64? attempts refreshed account"),
    (
      "authorization.check",
      "decisionId effect capability reason failed obligations remedies validUntil? policy snapshotVersion time account"
    ),
    ("authorization.checkMany", "decisions"),
    ("snapshot.get", "roles scopes entitlements fetchedAt version source"),
    ("stepUp.verify", "validUntil"), ("stepUp.status", "enrolled validUntil? attemptsLeft"),
    ("operation.enqueue", "operation decision"), ("operation.get", "status"),
    ("connectivity.get", "state since basis unreachable?"), ("event.subscribe", "subscription epoch sequence gap"),
    ("audit.verify", "intact entries head"), ("grant.create", "secret!"),
    ("approval.list", "approvals"), ("access.request", "request status"), ("access.list", "requests"),
  ])
  func methodResults_haveTheMembersOfTheTable(_ name: String, _ members: String) throws {
    let contract = RepositoryFixture.contract
    let method = try #require(contract.method(name))
    let shape = try #require(contract.resolved(method.result).object)
    for wanted in members.split(separator: " ") {
      let plain = wanted.trimmingSuffix { "?!".contains($0) }
      let member = try #require(shape.members.first { $0.name == plain }, "\(name) \(plain)")
      #expect(member.isRequired == !wanted.contains("?"), "\(name) \(plain)")
      #expect(contract.resolved(member.schema).isSecret == wanted.contains("!"), "\(name) \(plain)")
    }
  }

  @Test(arguments: [
    ("accountState", "active offlineStale interactionRequired reauthenticationRequired locked signedOut"),
    ("tokenFreshness", "fresh stale expired none"), ("refreshPhase", "idle inFlight inDoubt backoff"),
    ("clockTrust", "trusted suspect"), ("tokenSource", "cache refreshed staleOk"),
    ("signInFlow", "browser device paste"),
    ("signInStatus", "pending completed"), ("signOutMode", "soft hard offline"),
    ("dataDisposition", "sealed erased erasurePending"),
    ("revocationOutcome", "confirmed queued refused abandoned unsupported notNeeded"),
    ("effect", "allow deny readOnly"),
    ("resolutionBasis", "selector rule preferred directory issuer active"), ("revocationScope", "token family grant"),
    ("tokenReuse", "none grace strict"), ("unknownOutcomeRule", "reauthenticate replayOnce replayLast"),
    ("machineGrantType", "clientCredentials jwtBearer githubApp tokenFile"),
    ("accountKind", "openid secret client"), ("placementPlace", "header basic query path"),
    ("narrowing", "keeps sticks unknown"), ("refreshRuleBasis", "configured learned preset assumed"),
    ("failureClass", "transient reauthenticate locked interaction misconfigured"),
    ("remedy", "unlock connect stepUp interact reauthenticate administrator"),
    ("operationStatus", "queued ready sending done rejected needsInteraction unknown orphaned cancelled"),
    ("connectivityState", "online offline unknown"), ("prompt", "pinentry"),
    (
      "decisionReason",
      "allowed unknownCapability accountLocked signedOut reauthenticationRequired neverAuthenticated clockSuspect snapshotMissing snapshotTooOld missingRole missingScope missingEntitlement forbidden onlineRequired freshTokenRequired offlineWindowExpired stepUpRequired sensitivityTooHigh budgetExceeded policyError"
    ),
    (
      "eventType",
      "account.added account.expiring account.switched account.renamed account.signedOut account.erased session.stateChanged session.expired token.refreshed token.scopesNarrowed snapshot.changed signIn.requested stepUp.granted stepUp.expired connectivity.changed revocation.confirmed revocation.abandoned operation.statusChanged approval.requested approval.decided access.requested access.decided agent.locked agent.unlocked policy.changed clock.suspect event.gap"
    ),
  ])
  func enumerations_haveTheWordsOfTheTable(_ name: String, _ words: String) {
    guard case .enumeration(let known)? = RepositoryFixture.contract.type(name)?.kind else {
      Issue.record("types/\(name).json is no set of words")
      return
    }
    #expect(known == words.split(separator: " ").map(String.init))
  }

  @Test func errors_matchTheTable() {
    let table = """
      -32700 parseError -32600 invalidRequest -32601 methodNotFound -32602 invalidParams -32603 internalError
      1001 agentLocked 1002 shuttingDown 1003 overloaded 1004 requestCancelled 1005 unsupportedProtocol 1006 timedOut
      1007 notPermitted 1008 unlockFailed 2001 accountNotFound 2002 accountAmbiguous 2003 signedOut
      2004 reauthenticationRequired 2005 interactionRequired 2006 accountLocked 2007 signInFailed 2008 dataLocked
      3001 offline 3002 providerUnavailable 3003 providerMisconfigured 3004 untrustedServer 3005 providerNotFound
      4001 denied 4002 stepUpRequired 4003 stepUpFailed 4004 stepUpThrottled 4005 policyInvalid
      5001 storeUnavailable 5002 integrity 5003 rolledBack 6001 originNotAllowed 6002 operationNotFound 6003 notFound
      """
    let told = RepositoryFixture.contract.errors.flatMap { ["\($0.code)", $0.name] }
    #expect(told == table.split { $0.isWhitespace }.map(String.init))
  }

  @Test func paramDefaults_matchTheTable() {
    func value(_ method: String, _ member: String) -> JSONValue? {
      let shape = RepositoryFixture.contract.resolved(RepositoryFixture.contract.method(method)!.params).object
      return shape?.members.first { $0.name == member }?.schema.defaultValue
    }
    #expect(value("token.get", "minimumLifetimeSeconds") == .number("60"))
    #expect(value("account.signOut", "revocationTimeoutSeconds") == .number("3"))
    #expect(value("request.send", "allowAuthRetry") == .bool(true))
  }

  @Test func methodsThatCarryBodies_matchTheTable() {
    let bodies = RepositoryFixture.contract.methods.filter(\.carriesBody).map(\.name)
    #expect(
      bodies == [
        "account.add", "account.replace", "request.send", "policy.get", "policy.set", "policy.validate", "policy.list",
        "policy.draft", "policy.explain", "policy.refresh", "secret.put", "operation.enqueue",
      ])
  }
}

extension StringProtocol {
  fileprivate func trimmingSuffix(_ isEnd: (Character) -> Bool) -> String {
    String(reversed().drop(while: isEnd).reversed())
  }
}
