internal import Agent
internal import AgentModel
internal import AgentPermissions
internal import AgentProtocol
internal import AgentRecords
internal import AgentSessions
internal import AgentSignIn
internal import AgentStore

/// What a method reaches, named in its line of `ServedMethods`: a limited caller's request is checked against it before
/// the handler runs (docs/callers.md, Coverage).
///
/// What the grant does not cover is answered like what does not exist.
struct Reached<Params: Sendable>: Sendable {
  let kind: ReachedKind
  /// Nil if they name nothing more than `AccountScopedParams` does, which `CallerAccess.admit` checks.
  let require: Requirement?

  private init(_ kind: ReachedKind, _ require: Requirement? = nil) { (self.kind, self.require) = (kind, require) }

  /// The params' `account`.
  static var account: Reached { Reached(.account) }

  /// The answer has what belongs to covered accounts, and the handler leaves out the rest.
  static var covered: Reached { Reached(.covered) }

  /// What is the same for every caller, and tells of no account.
  static var shared: Reached { Reached(.shared) }

  /// The agent as a whole: a grant must name the method.
  static var agent: Reached { Reached(.agent) }

  /// An account that must be named: without one the method would reach more than the grant covers.
  static func account(_ named: @escaping @Sendable (Params) -> AccountSelector?) -> Reached {
    Reached(.account, Requirements.account { named($0 as! Params) })
  }

  /// The provider of a covered account; any other counts as missing.
  static func provider(_ named: @escaping @Sendable (Params) -> ProviderName?) -> Reached {
    Reached(.provider, Requirements.provider { named($0 as! Params) })
  }

  /// The rule of a covered account.
  static func rule(_ named: @escaping @Sendable (Params) -> String) -> Reached {
    Reached(.rule, Requirements.rule { named($0 as! Params) })
  }

  /// A new name. All accounts share the aliases, and all the names of providers, so that its success would tell whether
  /// another account or provider has it: no limited caller takes one.
  static func name(takenBy takes: @escaping @Sendable (Params) -> Bool = { _ in true }) -> Reached {
    Reached(.name, Requirements.name { takes($0 as! Params) })
  }

  /// The sign-in of a covered account.
  static func signIn(_ named: @escaping @Sendable (Params) -> String) -> Reached {
    Reached(.signIn, Requirements.signIn { named($0 as! Params) })
  }

  /// A revocation of a covered account; nil for all of them.
  static func revocation(_ named: @escaping @Sendable (Params) -> String?) -> Reached {
    Reached(.revocation, Requirements.revocation { named($0 as! Params) })
  }

  /// A grant that was made under the caller's own.
  static func grant(_ named: @escaping @Sendable (Params) -> String) -> Reached {
    Reached(.grant, Requirements.grant { named($0 as! Params) })
  }
}

/// Throws if the caller does not reach what the params name.
typealias Requirement = @Sendable (any Sendable, EffectiveGrant, AgentService) async throws(AgentFailure) -> Void

/// One of each kind for the params of all methods.
private enum Requirements {
  typealias Named<Name> = @Sendable (any Sendable) -> Name

  static func account(_ named: @escaping Named<AccountSelector?>) -> Requirement {
    { (params, limits, agent) async throws(AgentFailure) in
      guard let selector = named(params) else { throw .caller(.notCovered) }
      _ = try limits.account(selector, agent.tokenCache)
    }
  }

  static func provider(_ named: @escaping Named<ProviderName?>) -> Requirement {
    { (params, limits, agent) async throws(AgentFailure) in
      guard let name = named(params) else { return }
      try await agent.vault.read { vault throws(AgentFailure) in try vault.providers.requireSeen(name, by: limits) }
    }
  }

  static func rule(_ named: @escaping Named<String>) -> Requirement {
    { (params, limits, agent) async throws(AgentFailure) in
      let rules = try await agent.vault.read { vault throws(AgentFailure) in vault.rules.all(within: limits) }
      let name = named(params)
      guard rules.contains(where: { $0.name == name }) else { throw .notFound(.rule) }
    }
  }

  static func name(_ takes: @escaping Named<Bool>) -> Requirement {
    { (params, _, _) async throws(AgentFailure) in
      if takes(params) { throw .caller(.notCovered) }
    }
  }

  static func signIn(_ named: @escaping Named<String>) -> Requirement {
    { (params, limits, agent) async throws(AgentFailure) in
      try await agent.signIns.requireSeen(named(params), within: limits)
    }
  }

  static func revocation(_ named: @escaping Named<String?>) -> Requirement {
    { (params, limits, agent) async throws(AgentFailure) in
      guard let name = named(params) else { return }
      let entries = try await agent.vault.read { vault throws(AgentFailure) in
        try vault.outbox.entries(within: limits)
      }
      guard entries.contains(where: { $0.name == name }) else { throw .notFound(.revocation) }
    }
  }

  static func grant(_ named: @escaping Named<String>) -> Requirement {
    { (params, limits, agent) async throws(AgentFailure) in
      let grants = try await agent.vault.read { vault throws(AgentFailure) in
        vault.callerGrants.grants(madeBy: limits)
      }
      let name = named(params)
      guard grants.contains(where: { $0.name == name }) else { throw .notFound(.callerGrant) }
    }
  }
}

/// The kinds of what methods reach.
package enum ReachedKind: String, CaseIterable, Sendable {
  case account, covered, provider, rule, name, signIn, revocation, grant, shared, agent
}
