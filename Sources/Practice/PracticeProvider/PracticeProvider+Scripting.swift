import LoopbackHTTP

/// The tokens of a sign-in.
public struct IssuedTokens: Sendable, Equatable {
  public var accessToken: String
  public var refreshToken: String?
  public var idToken: String?
  public var scopes: [String]
  public var expiresInSeconds: Int
  /// The family's id, for `revoke(grant:)` and `endOfGrant`.
  public var grant: String
}

/// A script that does not fit the provider; the message is for its author.
public struct PracticeError: Error, CustomStringConvertible, Sendable {
  public let description: String
}

// MARK: Users

extension PracticeProvider {
  /// Issues tokens as a sign-in would.
  public func signIn(
    user: String,
    client: String = "lanyard-demo",
    scopes: [String]? = nil,
    resources: [String] = []
  ) throws -> IssuedTokens {
    try withState { state in
      let index = try state.knownUserIndex(user)
      guard state.client(client) != nil else { throw PracticeError(description: "no client \(client)") }
      let issued = try state.signIn(user: index, clientID: client, scopes: scopes, resources: resources)
      return IssuedTokens(
        accessToken: issued.accessToken,
        refreshToken: issued.refreshToken,
        idToken: issued.idToken,
        scopes: issued.scopes,
        expiresInSeconds: issued.expiresInSeconds,
        grant: issued.grantID
      )
    }
  }

  /// Follows an authorization URL as a user would, and returns where the browser is redirected: to the client with a
  /// code, or with the provider's error.
  public func authorize(url: String, as user: String) throws -> String {
    try decideAuthorization(url) { state, request in
      state.approve(request, userIndex: try state.knownUserIndex(user))
    }
  }

  /// Follows an authorization URL and denies the consent.
  public func denyAuthorization(url: String) throws -> String {
    try decideAuthorization(url) { state, request in state.refuse(request, "access_denied") }
  }

  private func decideAuthorization(
    _ url: String,
    _ decide: (inout ProviderState, AuthorizationRequest) throws -> String
  ) throws -> String {
    let request = HTTPRequest.get(url)
    return try withState { state in
      guard state.issuer.localPath(of: request.path) == "/authorize" else {
        throw PracticeError(description: "not an authorization URL of this provider")
      }
      do {
        return try decide(&state, try state.authorizationRequest(request.queryItems))
      } catch ProviderState.AuthorizationRefusal.redirect(let location) {
        return location
      } catch ProviderState.AuthorizationRefusal.page(let text) {
        throw PracticeError(description: text)
      }
    }
  }

  public func approveDevice(userCode: String, as user: String) throws {
    try withState { state in
      let device = try state.knownDevice(userCode)
      state.approveDevice(device, userIndex: try state.knownUserIndex(user))
    }
  }

  public func denyDevice(userCode: String) throws {
    try withState { state in
      let device = try state.knownDevice(userCode)
      state.devices[device]?.status = .denied
    }
  }

  /// Changes a user; nil leaves a value unchanged. New roles or entitlements raise the version that `/entitlements`
  /// returns.
  public func setUser(
    _ user: String,
    disabled: Bool? = nil,
    roles: [String]? = nil,
    entitlements: [String]? = nil
  ) throws {
    try withState { state in
      state.changeUser(try state.knownUserIndex(user), disabled: disabled, roles: roles, entitlements: entitlements)
    }
  }
}

// MARK: Tokens

extension PracticeProvider {
  /// Whether a refresh with this token would succeed now.
  public func isActive(refreshToken: String) -> Bool { withState { $0.isActive(refreshToken: refreshToken) } }

  public func isActive(accessToken: String) -> Bool { withState { $0.validAccessToken(accessToken) != nil } }

  /// The valid refresh tokens, of one user or of all, sorted.
  public func activeRefreshTokens(user: String? = nil) -> [String] {
    withState { state in
      let meant = user.flatMap { state.userIndex($0) }
      if user != nil && meant == nil { return [] }
      return state.refreshTokens.keys.filter { value in
        guard state.isActive(refreshToken: value), let meant else { return state.isActive(refreshToken: value) }
        return state.refreshTokens[value].flatMap { state.grants[$0.grantID] }?.userIndex == meant
      }.sorted()
    }
  }

  /// The family of a refresh or access token.
  public func grant(ofToken value: String) -> String? {
    withState { $0.refreshTokens[value]?.grantID ?? $0.accessTokens[value]?.grantID }
  }

  /// Why a family ended: `refreshTokenReused`, `codeReused`, `revoked`, `signedOut`, `administrator`; nil while it is
  /// valid.
  public func endOfGrant(_ grant: String) -> String? { withState { $0.grants[grant]?.end?.rawValue } }

  /// Ends one family. False if it is unknown or has ended.
  @discardableResult
  public func revoke(grant: String) -> Bool {
    withState { state in state.endGrants { $0.id == grant } > 0 }
  }

  /// Ends all families of a user; returns how many.
  @discardableResult
  public func revokeAll(user: String) throws -> Int {
    try withState { state in
      let index = try state.knownUserIndex(user)
      return state.endGrants { $0.userIndex == index }
    }
  }

  /// Starts a new signing key. If the old one is not kept, its signatures can no longer be verified.
  public func rotateKeys(to algorithm: SigningAlgorithm? = nil, keepOld: Bool = true) {
    withState { state in
      state.keys.rotate(
        to: algorithm ?? state.keys.current.algorithm,
        keepingOld: keepOld,
        random: state.random
      )
    }
  }
}

// MARK: Scripting

extension PracticeProvider {
  /// The current options. A change takes effect with the next request.
  public var options: PracticeOptions {
    get { withState { $0.options } }
    set { withState { $0.options = newValue } }
  }

  /// Changes options in one step.
  public func configure(_ change: @Sendable (inout PracticeOptions) -> Void) {
    withState { change(&$0.options) }
  }

  /// The next requests to `path` (below the issuer: `/token`) meet this fault, after those already queued.
  public func enqueueFault(_ path: String, _ fault: Fault) { withState { $0.faults.append(fault, path: path) } }

  /// Removes the queued faults, of one path or of all.
  public func clearFaults(_ path: String? = nil) { withState { $0.faults.removeAll(path: path) } }

  public var hasFaults: Bool { withState { !$0.faults.isEmpty } }

  /// The offset of the provider's clock from the given one; it affects `Date`, lifetimes and tokens.
  public func setClockOffset(milliseconds: Int64) { withState { $0.options.clockOffsetMilliseconds = milliseconds } }

  /// The requests to one path, or all, oldest first; the latest 10,000 are kept.
  public func requests(to path: String? = nil) -> [LoggedRequest] {
    withState { state in state.log.entries.filter { path == nil || $0.path == path } }
  }

  /// The number of requests to a path since the start.
  public func requestCount(to path: String) -> Int { withState { $0.log.counts[path] ?? 0 } }

  /// The number of unsafe requests that `/protected` has carried out.
  public var protectedEffectCount: Int { withState { Int($0.effects.count) } }

  /// Resets the provider to its first state: no tokens, no faults, no log, the first options.
  public func reset() { withState { $0.reset() } }
}

extension ProviderState {
  func knownUserIndex(_ name: String) throws -> Int {
    guard let index = userIndex(name) else { throw PracticeError(description: "no user \(name)") }
    return index
  }

  func knownDevice(_ userCode: String) throws -> String {
    guard let device = pendingDevice(userCode: userCode) else {
      throw PracticeError(description: "no device waits with this code")
    }
    return device
  }
}
