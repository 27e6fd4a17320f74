internal import AgentCore
internal import AgentModel
internal import AgentOAuth
internal import AgentPorts
internal import AgentRecords
internal import Secrets

/// A grant after an answer renewed it.
struct RenewedGrant {
  var grant: GrantRecord
  /// Nil if the answer brought no usable access token.
  var accessToken: AccessToken?
  /// The answer brought a bearer token, and the provider's accounts are to have bound ones.
  var isUnbound: Bool
  /// A bearer token took the place of a bound one, or the reverse.
  var bindingChanged: Bool
  /// Scopes that the answer took away.
  var lostScopes: [String]?
  /// The profile after the commit.
  var profile: AccountProfile?
  var rights: RightsChange?

  /// `answer` renews the grant of `loaded`. `sent` is the refresh token of its request, if
  /// this process sent it. `time` is trusted time.
  init(
    renewing loaded: Account.Loaded, by response: TokenResponse, _ idToken: RefreshedIDToken, sent: Secret?,
    for answer: ExchangeIntent, clock: any AgentClock, time: TimeKeeper
  ) {
    var grant = loaded.grant
    grant.refreshToken = response.refreshToken ?? grant.refreshToken ?? sent
    grant.generation += 1
    grant.memory = GrantMemory(
      loaded.machine.grant.memory(afterSuccessFor: answer.key), boot: clock.boot(), wall: clock.wall())
    if let lifetime = response.refreshTokenLifetime {
      grant.refreshTokenExpiresAt = lifetime.end.map { time.calendarTime(of: loaded.profile.provider) + $0 }
    }
    switch idToken {
    case .kept: grant.droppedIDToken = nil
    case .invalid(let failure): grant.droppedIDToken = failure
    case .none: break
    }
    if let token = idToken.stored { grant.verifiedIDToken = token.isVerified ? Fingerprint.of(token.secret) : nil }
    // An answer for another resource tells what that token has.
    if answer.key == .standard, let told = response.authorizationDetails { grant.details = told.isEmpty ? nil : told }
    lostScopes = answer.key == .standard ? grant.narrow(to: response.scope) : nil
    if response.accessToken != nil { grant.isDowngraded = grant.deviceKey != nil && !response.isBound }
    bindingChanged = grant.isDowngraded != loaded.grant.isDowngraded
    self.grant = grant
    // An answer of an earlier boot has no trustworthy time: keep its refresh token, and refresh again.
    let isOfThisBoot = answer.bootID == clock.bootID
    isUnbound = response.accessToken != nil && !response.isBound && loaded.machine.refusesBearerTokens
    accessToken =
      isOfThisBoot && !isUnbound
      ? AccessToken(
        response, for: answer.key, of: grant, isRenewable: loaded.profile.kind == .client ? true : nil,
        sentAt: answer.boot, clock: clock,
        highWater: time.highWater(of: loaded.profile.provider)) : nil
  }
}

extension GrantRecord {
  /// Applies a narrower `scope` of an answer (RFC 6749 §5.1). Returns the scopes that were lost; nil if none were.
  fileprivate mutating func narrow(to scope: ScopeSet?) -> [String]? {
    let scope = ScopeSet.granted(scope, orAsked: scopes)
    guard scope != scopes else { return nil }
    let lost = scopes.names.filter { !scope.names.contains($0) }
    scopes = scope
    lostScopes = ScopeSet((lostScopes.names + lost).filter { !scope.names.contains($0) })
    if !lost.isEmpty { isNarrowed = true }
    return lost.isEmpty ? nil : lost
  }
}
