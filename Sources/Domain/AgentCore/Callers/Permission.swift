public import AgentModel

/// The methods, accounts, tokens and requests that a restricted caller may use (docs/callers.md, Grants).
///
/// - C1: `a.narrowed(by: b)` is the intersection of `a` and `b`: narrowing adds nothing.
public struct Permission: Hashable, Sendable {
  public private(set) var methods: Set<String>
  public private(set) var accounts: Set<AccountID>
  /// The scopes that its tokens may have; nil for all.
  public private(set) var scopes: Set<String>?
  /// The resources that its tokens may be for (RFC 8707); nil for all, and for tokens without one.
  public private(set) var resources: Set<String>?
  /// The types of rights in detail that its tokens may carry; nil for all.
  public private(set) var detailTypes: Set<String>?
  /// The origins that its requests may go to, in their normal form (`RequestTarget.origin`); nil for all that the
  /// provider allows.
  public private(set) var origins: Set<String>?
  /// The origins to which a proxy lets it through without a token.
  public private(set) var passOrigins: PassedOrigins
  /// The capabilities of other callers' operations that it may claim; nil: of all. An AI agent claims only those that are
  /// named.
  public private(set) var capabilities: Set<String>?
  /// The caller is an AI agent, whose requests only read unless the policy says otherwise.
  public private(set) var isForAgent: Bool
  /// The methods of requests that a person added for an AI agent, by origin.
  public private(set) var addedMethods: [String: Set<String>] = [:]

  /// `detailTypes`: nil for none where scopes or resources are limited, else for all.
  public init(
    methods: Set<String>, accounts: Set<AccountID>, scopes: Set<String>? = nil, resources: Set<String>? = nil,
    detailTypes: Set<String>? = nil, origins: Set<String>? = nil, passOrigins: PassedOrigins = PassedOrigins(),
    capabilities: Set<String>? = nil, isForAgent: Bool = false
  ) {
    self.methods = isForAgent ? methods.subtracting(Self.methodsOfPeople) : methods
    self.accounts = accounts
    self.scopes = scopes
    self.resources = resources
    // A list of scopes says nothing of rights that no scope expresses.
    self.detailTypes = detailTypes ?? (scopes == nil && resources == nil ? nil : [])
    self.origins = origins
    self.passOrigins = passOrigins
    self.capabilities = capabilities ?? (isForAgent ? [] : nil)
    self.isForAgent = isForAgent
  }

  /// Expands patterns against the methods of the contract.
  public init(
    patterns: [MethodPattern], accounts: Set<AccountID>, scopes: Set<String>? = nil, resources: Set<String>? = nil,
    detailTypes: Set<String>? = nil, origins: Set<String>? = nil, passOrigins: PassedOrigins = PassedOrigins(),
    capabilities: Set<String>? = nil, isForAgent: Bool = false,
    among methods: [(name: String, mustBeNamed: Bool)]
  ) {
    let covered = methods.filter { method in
      patterns.contains { $0.covers(method.name, mustBeNamed: method.mustBeNamed) }
    }
    self.init(
      methods: Set(covered.map(\.name)), accounts: accounts, scopes: scopes, resources: resources,
      detailTypes: detailTypes, origins: origins, passOrigins: passOrigins, capabilities: capabilities,
      isForAgent: isForAgent)
  }

  /// True if some token of a covered account is not for this caller.
  public var limitsTokens: Bool { scopes != nil || resources != nil || detailTypes != nil }

  public var tokenLimit: TokenLimit { TokenLimit(scopes: scopes, detailTypes: detailTypes) }

  /// True if some method returns access tokens to the caller.
  public var givesTokens: Bool { !methods.isDisjoint(with: ["token.get", "token.refresh", "token.reject"]) }

  /// True if the caller may have the person's ID token. It is for no resource, and comes with the scope `openid`.
  public var coversIDToken: Bool { resources == nil && scopes?.contains("openid") ?? true }

  /// The exchange that the caller gets when it asks for `wanted`; nil if the permission does not cover it. Without scopes
  /// of its own it is for those of the account that the permission names.
  public func derived(_ wanted: DerivedTokenKey, granted: ScopeSet) -> DerivedTokenKey? {
    guard limitsTokens else { return wanted }
    guard tokenLimit.covers(wanted.details) else { return nil }
    guard covers(type: wanted.type ?? Self.ordinaryTypes[0]) else { return nil }
    guard let token = token(TokenKey(resource: wanted.resource, scopes: wanted.scopes)) else { return nil }
    if let resources, let audience = wanted.audience, !resources.containsExactly(audience) { return nil }
    var key = wanted
    key.resource = token.resource
    if let scopes, wanted.scopes == nil {
      key.scopes = ScopeSet(granted.names.filter(scopes.containsExactly))
      if key.scopes?.isEmpty == true { return nil }
    }
    return key
  }

  /// True if a token that was exchanged with these rights and of this type is for the caller.
  public func covers(scopes told: ScopeSet, details: AuthorizationDetails?, type: String) -> Bool {
    covers(type: type) && tokenLimit.covers(details)
      && scopes.map { told.isWithin($0) } ?? true
  }

  /// Types of tokens that have scopes and audiences (RFC 8693 §3).
  private static let ordinaryTypes = [
    "urn:ietf:params:oauth:token-type:access_token", "urn:ietf:params:oauth:token-type:jwt",
  ]

  private func covers(type: String) -> Bool {
    if !limitsTokens || Self.ordinaryTypes.contains(type) { return true }
    return type == "urn:ietf:params:oauth:token-type:id_token" && coversIDToken
  }

  /// The intersection of both permissions.
  public func narrowed(by other: Permission) -> Permission {
    var both = Permission(
      methods: methods.intersection(other.methods), accounts: accounts.intersection(other.accounts),
      scopes: Self.both(scopes, other.scopes), resources: Self.both(resources, other.resources),
      detailTypes: Self.both(detailTypes, other.detailTypes), origins: Self.both(origins, other.origins),
      passOrigins: passOrigins.narrowed(to: other.passOrigins),
      capabilities: Self.both(capabilities, other.capabilities),
      isForAgent: isForAgent || other.isForAgent)
    // Who is no AI agent has every method.
    switch (isForAgent, other.isForAgent) {
    case (true, true):
      both.addedMethods = addedMethods.reduce(into: [:]) { both, one in
        both[one.key] = one.value.intersection(other.addedMethods[one.key] ?? [])
      }
    case (true, false): both.addedMethods = addedMethods
    case (false, _): both.addedMethods = other.addedMethods
    }
    return both
  }

  /// This permission with what a person added.
  public func widened(by addition: PermissionAddition) -> Permission {
    var wide = self
    wide.methods.formUnion(isForAgent ? addition.agentMethods.subtracting(Self.methodsOfPeople) : addition.agentMethods)
    if origins != nil { wide.origins?.formUnion(addition.origins) }
    if capabilities != nil { wide.capabilities?.formUnion(addition.capabilities) }
    guard isForAgent, !addition.requestMethods.isEmpty else { return wide }
    for origin in addition.origins { wide.addedMethods[origin, default: []].formUnion(addition.requestMethods) }
    return wide
  }

  /// True if the addition would add nothing.
  public func covers(_ addition: PermissionAddition) -> Bool {
    addition.agentMethods.isSubset(of: methods) && addition.origins.allSatisfy(covers(origin:))
      && capabilities.map { addition.capabilities.isSubset(of: $0) } ?? true
      && addition.origins.allSatisfy { origin in
        addition.requestMethods.allSatisfy { coversUnnamed($0, hasBody: false, at: origin) }
      }
  }

  /// True if `other` covers all of this permission.
  public func isWithin(_ other: Permission) -> Bool {
    methods.isSubset(of: other.methods) && accounts.isSubset(of: other.accounts)
      && tokenLimit.isWithin(other.tokenLimit) && TokenLimit.isWithin(resources, other.resources)
      && TokenLimit.isWithin(origins, other.origins) && passOrigins.isWithin(other.passOrigins)
      && TokenLimit.isWithin(capabilities, other.capabilities)
      && (isForAgent || !other.isForAgent)
      && (!other.isForAgent || addedMethods.allSatisfy { $0.value.isSubset(of: other.addedMethods[$0.key] ?? []) })
  }

  /// The token that the caller gets when it asks for `wanted`: the only resource of the permission is used in
  /// place of one that is not named. Nil if the permission does not cover it. Scopes that are not named are chosen by the
  /// account, among `scopes`.
  public func token(_ wanted: TokenKey) -> TokenKey? {
    var key = wanted
    if let resources {
      if key.resource == nil, resources.count == 1 { key.resource = resources.first }
      guard let resource = key.resource, resources.containsExactly(resource) else { return nil }
    }
    if let scopes {
      guard !scopes.isEmpty, key.scopes?.names.allSatisfy(scopes.containsExactly) ?? true else { return nil }
    }
    return key
  }

  /// Whether the caller's requests may go to this origin, which is in its normal form.
  public func covers(origin: String) -> Bool { origins?.containsExactly(origin) ?? true }

  /// Whether the caller may have a request of this method sent that no capability of the policy names.
  public func coversUnnamed(_ method: String, hasBody: Bool, at origin: String) -> Bool {
    !isForAgent || Self.isReading(method, hasBody: hasBody) || addedMethods[origin]?.contains(method) == true
  }

  /// True for the requests that an AI agent has without the policy's word. Of a GET with a body only the server knows
  /// whether it changes something (RFC 9110 §9.3.1).
  public static func isReading(_ method: String, hasBody: Bool) -> Bool { readingMethods.contains(method) && !hasBody }

  /// What no AI agent is given, whatever its grant names: they have the agent ask any host, or change the rules that
  /// the AI agent is under.
  public static let methodsOfPeople: Set<String> = ["policy.set", "provider.add", "provider.update"]

  /// The methods of an AI agent's requests. `OPTIONS` is not one of them: it tells what else could be done.
  private static let readingMethods: Set<String> = ["GET", "HEAD"]

  private static func both(_ one: Set<String>?, _ other: Set<String>?) -> Set<String>? {
    guard let one, let other else { return one ?? other }
    return one.filter(other.containsExactly)
  }
}
