import LoopbackHTTP

/// A script that does not fit the provider; the message is for its author.
public struct PracticeError: Error, CustomStringConvertible, Sendable {
  public let description: String

  package init(description: String) {
    self.description = description
  }
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
      let index = try state.context.options.users.known(user)
      guard let client = state.clients.client(client, in: state.context) else {
        throw PracticeError(description: "no client \(client)")
      }
      return state.tokens.signIn(
        userIndex: index, client: client, scopes: scopes, resources: resources, in: state.context)
    }
  }

  /// Follows an authorization URL as a user would, and returns where the browser is redirected: to the client with a
  /// code, or with the provider's error.
  public func authorize(url: String, as user: String) throws -> String {
    try decideAuthorization(url) { state, request in
      state.authorizations.approve(request, userIndex: try state.context.options.users.known(user), in: state.context)
    }
  }

  /// Follows an authorization URL and denies the consent.
  public func denyAuthorization(url: String) throws -> String {
    try decideAuthorization(url) { state, request in
      state.authorizations.refuse(request, "access_denied", in: state.context)
    }
  }

  private func decideAuthorization(
    _ url: String,
    _ decide: (inout ProviderState, AuthorizationRequest) throws -> String
  ) throws -> String {
    let request = HTTPRequest.get(url)
    return try withState { state in
      guard state.context.localPath(of: request.path) == "/authorize" else {
        throw PracticeError(description: "not an authorization URL of this provider")
      }
      do {
        let wanted = try state.authorizations.request(request.queryItems, from: state.clients, in: state.context)
        return try decide(&state, wanted)
      } catch AuthorizationRefusal.redirect(let location) {
        return location
      } catch AuthorizationRefusal.page(let text) {
        throw PracticeError(description: text)
      }
    }
  }

  /// A key of a user for `/keyed/`, as people make one on the page of a service.
  public func makeSecret(user: String) throws -> String {
    try withState { state in
      let index = try state.context.options.users.known(user)
      return state.secrets.make(userIndex: index, in: state.context)
    }
  }

  /// Ends such a key. False if there is none.
  @discardableResult
  public func endSecret(_ secret: String) -> Bool { withState { $0.secrets.end(secret) } }

  public func approveDevice(userCode: String, as user: String) throws {
    try withState { state in
      let device = try state.devices.known(userCode, in: state.context)
      state.devices.approve(device, userIndex: try state.context.options.users.known(user), in: state.context)
    }
  }

  public func denyDevice(userCode: String) throws {
    try withState { state in
      state.devices.deny(try state.devices.known(userCode, in: state.context))
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
      let index = try state.context.options.users.known(user)
      state.context.options.changeUser(index, disabled: disabled, roles: roles, entitlements: entitlements)
    }
  }
}

// MARK: Tokens

extension PracticeProvider {
  /// Whether a refresh with this token would succeed now.
  public func isActive(refreshToken: String) -> Bool {
    withState { $0.tokens.activeGrant(ofRefreshToken: refreshToken, in: $0.context) != nil }
  }

  public func isActive(accessToken: String) -> Bool {
    withState { $0.tokens.validAccessToken(accessToken, in: $0.context) != nil }
  }

  /// The valid refresh tokens, of one user or of all, sorted.
  public func activeRefreshTokens(user: String? = nil) -> [String] {
    withState { state in
      let meant = user.flatMap { state.context.options.users.index(called: $0) }
      if user != nil && meant == nil { return [] }
      return state.tokens.refreshTokens.keys.filter { value in
        guard let grant = state.tokens.activeGrant(ofRefreshToken: value, in: state.context) else { return false }
        return meant.map { $0 == grant.userIndex } ?? true
      }.sorted()
    }
  }

  /// The family of a refresh or access token.
  public func grant(ofToken value: String) -> String? {
    withState { $0.tokens.grant(ofToken: value)?.id }
  }

  /// Why a family ended: `refreshTokenReused`, `codeReused`, `revoked`, `signedOut`, `administrator`; nil while it is
  /// valid.
  public func endOfGrant(_ grant: String) -> String? { withState { $0.tokens.grants[grant]?.end?.rawValue } }

  /// Ends one family. False if it is unknown or has ended.
  @discardableResult
  public func revoke(grant: String) -> Bool {
    withState { state in state.tokens.endAll(because: .administrator) { $0.id == grant } > 0 }
  }

  /// Ends all families of a user; returns how many.
  @discardableResult
  public func revokeAll(user: String) throws -> Int {
    try withState { state in
      let index = try state.context.options.users.known(user)
      return state.tokens.endAll(because: .administrator) { $0.userIndex == index }
    }
  }

  /// Starts a new signing key. If the old one is not kept, its signatures can no longer be verified.
  public func rotateKeys(to algorithm: SigningAlgorithm? = nil, keepOld: Bool = true) {
    withState { state in
      state.tokens.signer.keys.rotate(
        to: algorithm ?? state.tokens.signer.keys.current.algorithm,
        keepingOld: keepOld,
        random: state.context.random
      )
    }
  }
}

// MARK: Scripting

extension PracticeProvider {
  /// The current options. A change takes effect with the next request.
  public var options: PracticeOptions {
    get { withState { $0.context.options } }
    set { withState { $0.context.options = newValue } }
  }

  /// Changes options in one step.
  public func configure(_ change: @Sendable (inout PracticeOptions) -> Void) {
    withState { change(&$0.context.options) }
  }

  /// The next requests to `path` (below the issuer: `/token`) meet this fault, after those already queued.
  public func enqueueFault(_ path: String, _ fault: Fault) { withState { $0.faults.append(fault, path: path) } }

  /// Removes the queued faults, of one path or of all.
  public func clearFaults(_ path: String? = nil) { withState { $0.faults.removeAll(path: path) } }

  public var hasFaults: Bool { withState { !$0.faults.isEmpty } }

  /// The offset of the provider's clock from the given one; it affects `Date`, lifetimes and tokens.
  public func setClockOffset(milliseconds: Int64) {
    withState { $0.context.options.clockOffsetMilliseconds = milliseconds }
  }

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

extension [PracticeUser] {
  fileprivate func known(_ name: String) throws -> Int {
    guard let index = index(called: name) else { throw PracticeError(description: "no user \(name)") }
    return index
  }
}

extension DeviceAuthorizations {
  fileprivate func known(_ userCode: String, in context: ProviderContext) throws -> String {
    guard let device = pending(userCode: userCode, in: context) else {
      throw PracticeError(description: "no device waits with this code")
    }
    return device
  }
}
