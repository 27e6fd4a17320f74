internal import Agent
internal import AgentCore
internal import AgentModel
internal import AgentOAuth
internal import AgentPorts
internal import AgentProtocol
internal import AgentRecords
internal import AgentSessions
internal import AgentSignIn
internal import AgentStore
internal import AgentWire

enum AccountAddHandler: MethodHandler {
  typealias Method = AccountAdd

  static func handle(_ params: AccountAdd.Params, _ call: Call) async throws(AgentFailure) -> AccountAdd.Result {
    let agent = call.agent
    // Its file may be there by now.
    await agent.lookAgain()
    let provider = try await agent.vault.provider(named: params.provider.text)
    try check(params, at: provider)
    // From here on it is the agent's work: a caller that goes away leaves no account half added.
    let account = try await agent.background.finish { () async throws(AgentFailure) in
      guard let secret = params.secret else {
        return try await agent.machineAdmission.add(at: provider, alias: params.alias, by: call.limits)
      }
      let given = SecretAdmission.Given(
        secret: secret, username: params.username, alias: params.alias, expiresAt: params.expiresAt)
      return try await agent.secretAdmission.add(given, at: provider, by: call.limits)
    }
    return AccountAdd.Result(account: account)
  }

  /// The members that an account of the provider's kind has: a secret, or none of what goes with one.
  private static func check(_ params: AccountAdd.Params, at provider: Provider) throws(AgentFailure) {
    let kind = provider.configuration.kind
    switch kind {
    case .openid:
      throw .invalidParameter("/provider", expected: "a provider without a sign-in; `signIn.begin` signs in")
    case .client:
      let members = [
        ("secret", params.secret != nil), ("username", params.username != nil), ("expiresAt", params.expiresAt != nil),
      ]
      guard let (name, _) = members.first(where: \.1) else { return }
      throw .invalidParameter("/" + name, expected: "nothing for a provider of the kind \(kind.rawValue)")
    case .secret:
      guard params.secret != nil else { throw .invalidParameter("/secret", expected: "the secret") }
      guard let username = params.username else { return }
      do throws(SecretPlacement.Refusal) {
        try SecretPlacement.check(username: username)
      } catch {
        throw .invalidParameter(error.path, expected: error.expected)
      }
    }
  }
}

enum AccountReplaceHandler: MethodHandler {
  typealias Method = AccountReplace

  static func handle(_ params: AccountReplace.Params, _ call: Call) async throws(AgentFailure) -> AccountReplace.Result
  {
    let agent = call.agent
    // No proof would show that a caller which gives a secret of its own made the account another person's.
    if call.limits != nil, try await agent.vault.profile(params.account).identity.isOfSecret {
      throw .caller(.notCovered)
    }
    let given = SecretAdmission.Given(secret: params.secret, username: params.username, expiresAt: params.expiresAt)
    let account = try await agent.background.finish { () async throws(AgentFailure) in
      try await agent.secretAdmission.replace(given, of: params.account)
    }
    return AccountReplace.Result(account: account)
  }
}

enum AccountListHandler: MethodHandler {
  typealias Method = AccountList

  static func handle(_ params: AccountList.Params, _ call: Call) async throws(AgentFailure) -> AccountList.Result {
    await call.agent.accounts.settle()
    let (profiles, active) = try await call.agent.vault.read { vault throws(AgentFailure) in
      (vault.directory.sortedProfiles, vault.directory.active)
    }
    return AccountList.Result(
      accounts: profiles.filter(call.sees).map { WireAccount(listed: $0, call.agent, active: active) },
      active: active.flatMap { call.sees($0) ? $0 : nil })
  }
}

enum AccountGetHandler: MethodHandler {
  typealias Method = AccountGet

  static func handle(_ params: AccountGet.Params, _ call: Call) async throws(AgentFailure) -> AccountGet.Result {
    await call.agent.accounts.settle(call.agent.tokenCache.accounts(selector: params.account))
    let (profile, active) = try await call.agent.vault.read { vault throws(AgentFailure) in
      (try vault.directory.profile(params.account), vault.directory.active)
    }
    return WireAccount(profile, call.agent, active: active)
  }
}

enum AccountSwitchHandler: MethodHandler {
  typealias Method = AccountSwitch

  static func handle(_ params: AccountSwitch.Params, _ call: Call) async throws(AgentFailure) -> AccountSwitch.Result {
    let (profile, previous) = try await call.agent.vault.commit { vault throws(AgentFailure) in
      try vault.accounts.activate(params.account)
    }
    if previous != profile.id {
      call.agent.events.publish(
        .accountSwitched(active: profile.id, previous: previous), account: profile.id)
    }
    return AccountSwitch.Result(
      account: profile.id, active: profile.id, previous: previous.flatMap { call.sees($0) ? $0 : nil })
  }
}

enum AccountRenameHandler: MethodHandler {
  typealias Method = AccountRename

  static func handle(_ params: AccountRename.Params, _ call: Call) async throws(AgentFailure) -> AccountRename.Result {
    let account = try await call.agent.vault.commit { vault throws(AgentFailure) in
      try vault.accounts.rename(params.account, to: params.alias)
    }
    return AccountRename.Result(account: account, alias: params.alias)
  }
}

/// Selects the account for a program, with the reason (docs/protocol.md, Account selector): a named account comes
/// first, then the preferred one, the directory's, the issuer's, and the active one.
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
    if let preferred = params.preferred {
      return AccountResolve.Result(account: try only(await named(preferred, call)), because: .preferred)
    }
    if let directory = params.workingDirectory, let file = try await file(of: directory, call) {
      guard case .names(let word) = file else { throw .changedDirectoryFile }
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
    if let preferred = params.preferred {
      hints.preferred = try await named(preferred, call).map(\.id)
    } else if let directory = params.workingDirectory {
      switch try await file(of: directory, call) {
      case .names(let word): hints.directory = try await matches(word, byName: false, call).map(\.id)
      case .changed: hints.isFileChanged = true
      case nil: break
      }
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
      case .preferred: (.preferred, nil)
      case .directory: (.directory, nil)
      case .active: (.active, nil)
      case .provider: (.issuer, nil)
      }
    return AccountResolve.Result(account: chosen.account, because: because, rule: rule)
  }

  /// What the nearest `.lanyard` file says, if the person ever trusted it.
  private enum DirectoryFile {
    case names(String)
    /// It has changed since, or can't be read.
    case changed
  }

  private static func file(of directory: String, _ call: Call) async throws(AgentFailure) -> DirectoryFile? {
    do throws(DirectoryAccountsFailure) {
      return try await call.agent.environment.directories.account(for: directory).map { .names($0) }
    } catch {
      switch error {
      case .unavailable: throw .overloaded("files that name accounts can't be searched for")
      case .unreadable: return .changed
      case .noDirectory: throw .invalidParameter("/workingDirectory", expected: "an absolute path")
      }
    }
  }

  /// By id or alias alone: a mail address or a name is chosen by the provider, and stands in no variable.
  private static func named(_ selector: AccountSelector, _ call: Call) async throws(AgentFailure) -> [AccountProfile] {
    try await call.agent.vault.read { vault throws(AgentFailure) in vault.directory.named(selector).filter(call.sees) }
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

enum AccountSignOutHandler: MethodHandler {
  typealias Method = AccountSignOut

  static func handle(_ params: AccountSignOut.Params, _ call: Call) async throws(AgentFailure) -> AccountSignOut.Result
  {
    let agent = call.agent
    let id = try await agent.vault.profile(params.account).id
    // From here on it is the agent's work: a caller that goes away leaves no account half signed out.
    let answer = try await agent.background.finish { () async throws(AgentFailure) in
      try await agent.signOuts.signOut(
        id, SignOutMode(params.mode), revocationTimeoutSeconds: params.revocationTimeoutSeconds)
    }
    return AccountSignOut.Result(
      account: id, mode: WireSignOutMode(answer.mode),
      demandedBy: agent.environment.configuration.hardSignOutDemandedBy, data: WireDataDisposition(answer.outcome.data),
      revocation: WireRevocationOutcome(answer.outcome.revocation), nextAttemptAt: answer.nextAttemptAt,
      // It carries the ID token, which is not for a caller whose tokens are limited.
      endSessionUrl: call.limits?.permission.limitsTokens == true ? nil : answer.endSessionURL)
  }
}

enum AccountForgetHandler: MethodHandler {
  typealias Method = AccountForget

  static func handle(_ params: AccountForget.Params, _ call: Call) async throws(AgentFailure) -> AccountForget.Result {
    let agent = call.agent
    let (profile, erased) = try await agent.vault.commit { vault throws(AgentFailure) in
      try vault.signOuts.forget(params.account)
    }
    for id in erased { agent.events.publish(.accountErased, account: id) }
    return AccountForget.Result(account: profile.id)
  }
}
