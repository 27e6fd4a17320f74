internal import Agent
internal import AgentCore
internal import AgentModel
internal import AgentPorts
internal import AgentProtocol
internal import AgentRecords
internal import AgentSessions
internal import AgentStore

/// Selects the account for a program, with the reason (docs/protocol.md, Account selector): a named account comes
/// first, then the directory's, then the issuer's, then the active one.
enum AccountResolveHandler: MethodHandler {
  typealias Method = AccountResolve

  static func handle(_ params: AccountResolve.Params, _ call: Call) async throws(AgentFailure) -> AccountResolve.Result
  {
    if let url = params.url { return try await resource(url, params, call) }
    let vault = call.agent.vault
    if let selector = params.selector {
      let account: AccountID
      if case .alias(let word) = selector {
        account = try only(await matches(word, byName: true, call))
      } else {
        account = try await vault.profile(call.pinned(selector)).id
      }
      return AccountResolve.Result(account: account, because: .selector)
    }
    if let directory = params.workingDirectory, let word = try await word(for: directory, call) {
      return AccountResolve.Result(
        account: try only(await matches(word, byName: false, call)), because: .directory)
    }
    if let issuer = params.issuer {
      let (profiles, active) = try await vault.read { vault throws(AgentFailure) in
        (vault.directory.sortedProfiles, vault.directory.active)
      }
      let matching = profiles.filter(call.sees).filter { $0.identity.issuer == issuer && $0.signInStatus == .signedIn }
      // The active account wins over others at the same issuer.
      if let one = matching.first(where: { $0.id == active }) {
        return AccountResolve.Result(account: one.id, because: .issuer)
      }
      return AccountResolve.Result(account: try only(matching), because: .issuer)
    }
    return AccountResolve.Result(account: try await vault.profile(call.pinned(.active)).id, because: .active)
  }

  /// Selects the account for the URL of a resource (docs/desktop.md, Which account).
  private static func resource(
    _ text: String, _ params: AccountResolve.Params, _ call: Call
  ) async throws(AgentFailure) -> AccountResolve.Result {
    guard let url = HTTPURL(text) else {
      throw .invalidParameter("/url", expected: "an absolute URL without user information and fragment")
    }
    var hints = ResourceAccount.Hints(user: params.user)
    switch params.selector {
    case .alias(let word)?: hints.selected = try await matches(word, byName: true, call).map(\.id)
    case let selector?: hints.selected = [try await call.agent.vault.profile(call.pinned(selector)).id]
    case nil: break
    }
    if hints.selected == [] { throw .accountNotFound }
    if let directory = params.workingDirectory, let word = try await word(for: directory, call) {
      hints.directory = try await matches(word, byName: false, call).map(\.id)
    }
    let chosen = try await call.agent.vault.read { [hints] vault throws(AgentFailure) in
      var hints = hints
      hints.active = vault.directory.active
      return try vault.rules.choose(for: url, hints: hints, among: call.sees)
    }
    let (because, rule): (WireResolutionBasis, String?) =
      switch chosen.basis {
      case .selector, .user: (.selector, nil)
      case .rule(let name): (.rule, name)
      case .directory: (.directory, nil)
      case .active: (.active, nil)
      case .provider: (.issuer, nil)
      }
    return AccountResolve.Result(account: chosen.account, because: because, rule: rule)
  }

  /// The word in the directory's `.lanyard` file, if the person trusts it.
  private static func word(for directory: String, _ call: Call) async throws(AgentFailure) -> String? {
    do throws(DirectoryAccountsFailure) {
      return try await call.agent.environment.directories.account(for: directory)
    } catch {
      switch error {
      case .unavailable: throw .overloaded("files that name accounts can't be searched for")
      case .unreadable:
        throw .invalidParameter("/workingDirectory", expected: "a directory whose `.lanyard` file can be read")
      case .noDirectory: throw .invalidParameter("/workingDirectory", expected: "an absolute path")
      }
    }
  }

  private static func matches(
    _ word: String, byName: Bool, _ call: Call
  ) async throws(AgentFailure) -> [AccountProfile] {
    try await call.agent.vault.read { vault throws(AgentFailure) in
      vault.directory.matches(word, byName: byName).filter(call.sees)
    }
  }

  private static func only(_ profiles: [AccountProfile]) throws(AgentFailure) -> AccountID {
    guard let first = profiles.first else { throw .accountNotFound }
    guard profiles.count == 1 else { throw .accountAmbiguous(profiles.map(\.id)) }
    return first.id
  }
}
