internal import Agent
internal import AgentDecisions
internal import AgentModel
internal import AgentProtocol
internal import AgentRecords
internal import AgentSessions
internal import AgentStore

/// What a method reaches, named in its line of `ServedMethods`: a limited caller's request is checked against it before
/// the handler runs (docs/callers.md, Coverage).
///
/// What the grant does not cover is answered like what does not exist.
struct Reached<Params: Sendable>: Sendable {
  let kind: ReachedKind
  /// Throws if the caller does not reach what the params name. Nil if they name nothing more than `AccountScopedParams`
  /// does, which `CallerAccess.admit` checks.
  let require: Requirement?

  typealias Requirement = @Sendable (Params, EffectiveGrant, AgentService) async throws(AgentFailure) -> Void

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
    let require: Requirement = { (params, limits, agent) async throws(AgentFailure) in
      guard let selector = named(params) else { throw .caller(.notCovered) }
      _ = try limits.account(selector, agent.tokenCache)
    }
    return Reached(.account, require)
  }

  /// The provider of a covered account; any other counts as missing.
  static func provider(_ named: @escaping @Sendable (Params) -> ProviderName?) -> Reached {
    let require: Requirement = { (params, limits, agent) async throws(AgentFailure) in
      guard let name = named(params) else { return }
      try await agent.vault.read { vault throws(AgentFailure) in try vault.providers.requireSeen(name, by: limits) }
    }
    return Reached(.provider, require)
  }

  /// The rule of a covered account.
  static func rule(_ named: @escaping @Sendable (Params) -> String) -> Reached {
    let require: Requirement = { (params, limits, agent) async throws(AgentFailure) in
      let rules = try await agent.vault.read { vault throws(AgentFailure) in vault.rules.all(within: limits) }
      guard rules.contains(where: { $0.name == named(params) }) else { throw .notFound(.rule) }
    }
    return Reached(.rule, require)
  }

  /// A new name. All accounts share the aliases, and all the names of providers, so that its success would tell whether
  /// another account or provider has it: no limited caller takes one.
  static func name(takenBy takes: @escaping @Sendable (Params) -> Bool = { _ in true }) -> Reached {
    let require: Requirement = { (params, _, _) async throws(AgentFailure) in
      if takes(params) { throw .caller(.notCovered) }
    }
    return Reached(.name, require)
  }

  /// The sign-in of a covered account.
  static func signIn(_ named: @escaping @Sendable (Params) -> String) -> Reached {
    let require: Requirement = { (params, limits, agent) async throws(AgentFailure) in
      try await agent.signIns.requireSeen(named(params), within: limits)
    }
    return Reached(.signIn, require)
  }

  /// A revocation of a covered account; nil for all of them.
  static func revocation(_ named: @escaping @Sendable (Params) -> String?) -> Reached {
    let require: Requirement = { (params, limits, agent) async throws(AgentFailure) in
      guard let name = named(params) else { return }
      let entries = try await agent.vault.read { vault throws(AgentFailure) in
        try vault.outbox.entries(within: limits)
      }
      guard entries.contains(where: { $0.name == name }) else { throw .notFound(.revocation) }
    }
    return Reached(.revocation, require)
  }

  /// A grant that was made under the caller's own.
  static func grant(_ named: @escaping @Sendable (Params) -> String) -> Reached {
    let require: Requirement = { (params, limits, agent) async throws(AgentFailure) in
      let grants = try await agent.vault.read { vault throws(AgentFailure) in
        vault.callerGrants.grants(madeBy: limits)
      }
      guard grants.contains(where: { $0.name == named(params) }) else { throw .notFound(.callerGrant) }
    }
    return Reached(.grant, require)
  }
}

/// The kinds of what methods reach.
package enum ReachedKind: String, CaseIterable, Sendable {
  case account, covered, provider, rule, name, signIn, revocation, grant, shared, agent
}
