import CommandSupport
import JSONRPC

/// The output of `lanyard status`.
struct StatusReport {
  var agent: AgentInfo
  /// Nil while the network is there, or not known.
  var network: NetworkInfo?
  var selection: AccountSelection?
  var account: AccountInfo?
  var session: SessionInfo?
  /// The error of the agent, if the account or its session can't be shown.
  var problem: CommandFailure?

  var lines: [String] {
    var facts = Facts()
    facts.add("Agent", "running, version \(agent.version)\(agent.startedAt.map { ", started \($0.relative)" } ?? "")")
    if agent.version != Version.text {
      facts.add(
        "Commands",
        styled: Style.notice("version \(Version.text)")
          + ": `lanyard stop` ends that agent; the next command starts this version")
    }
    facts.add("Vault", styled: vault)
    facts.add("Confinement", agent.confinementWords)
    addAdministrator(to: &facts)
    facts.add("Network", network?.words ?? agent.connectivity)
    facts.add("Accounts", accounts)
    if agent.pendingRevocations > 0 { facts.add("Revocations", "\(agent.pendingRevocations) waiting to be sent") }
    if agent.pendingOperations > 0 { facts.add("Operations", "\(agent.pendingOperations) queued") }
    if let source = agent.policySource {
      facts.add("Policies", "\(source.words), from \(source.url)")
      facts.add(
        " ", source.problem.map { "the last fetch failed\(source.failedAt.map { " \($0.relative)" } ?? ""): \($0)" })
    }
    facts.gap()
    addAccount(to: &facts)
    return facts.lines
  }

  /// What the administrator enforces, and what is ignored.
  private func addAdministrator(to facts: inout Facts) {
    guard let administrator = agent.administrator else { return }
    if let file = administrator.file, !administrator.enforced.isEmpty {
      facts.add("Enforced", "\(administrator.enforced.joined(separator: ", ")), by \(file)")
      if !administrator.overruled.isEmpty {
        facts.add(
          " ",
          styled: Style.notice("your own value of \(administrator.overruled.joined(separator: ", ")) is ignored"))
      }
    }
    for (number, problem) in administrator.problems.enumerated() {
      facts.add(number == 0 ? "Administrator" : " ", styled: Style.bad(Text.shown(problem)))
    }
  }

  private var vault: String {
    let state =
      !agent.isInitialized
      ? Style.notice("not made yet") : agent.isLocked ? Style.bad("locked") : Style.good("unlocked")
    return "\(state), \(Text.shown(agent.protectionWords))"
  }

  private var accounts: String {
    guard !agent.isLocked || agent.accounts > 0 else { return "not known while the vault is locked" }
    let states = agent.byState.map { "\($0.count) \(AccountInfo.words(ofState: $0.state))" }.joined(separator: ", ")
    return states.isEmpty ? "\(agent.accounts)" : "\(agent.accounts): \(states)"
  }

  private func addAccount(to facts: inout Facts) {
    guard let account else { return addProblem(to: &facts) }
    facts.add("Account", styled: Style.bold(Text.shown(account.label)) + Text.shown("  \(account.person)"))
    facts.add("Chosen", selection?.reason.choice)
    addTrust(to: &facts)
    facts.add("Provider", "\(account.provider)\(account.tenant.map { ", tenant \($0)" } ?? "")")
    let state = session?.state ?? account.state
    let since =
      session?.since.flatMap { state == "active" ? nil : ", since \($0.local) (\(session?.words($0) ?? $0.relative))" }
      ?? ""
    facts.add("Session", styled: Style.state(state)(Text.shown(AccountInfo.words(ofState: state))) + since)
    guard let session else { return addProblem(to: &facts) }
    facts.add("Token", session.tokenWords(of: account))
    facts.add("Refresh", session.refreshWords)
    facts.add("Bound", session.bindingWords)
    if !session.detailTypes.isEmpty { facts.add("Details", session.detailTypes.joined(separator: ", ")) }
    if !session.lostScopes.isEmpty {
      facts.add(
        "Lost scopes",
        "\(session.lostScopes.joined(separator: " ")): the provider took them away. "
          + "`lanyard login --account \(account.label)` gets them back")
    }
    facts.add("Last online", session.lastOnline.map(session.words))
    facts.add("Offline until", session.offlineWords)
    facts.add("Data", account.dataWords)
    facts.add("Step-up", session.stepUpValidUntil.map { "valid until \($0.clock)" })
    facts.add("Clock", styled: session.suspicionWords.map { Style.bad($0) })
    facts.add("Clock", styled: session.clockWords.map { Style.notice($0) })
    var steps: [String] = []
    for step in session.remedies.map({ ReasonMessages.remedy($0, of: account) }) where !steps.contains(step) {
      steps.append(step)
    }
    if state == "locked" { steps = Self.stepsOfADisabled(account) }
    for (number, step) in steps.enumerated() { facts.add(number == 0 ? "Next" : " ", step) }
    if session.remedies.isEmpty, let next = Self.next(state, account: account) { facts.add("Next", next) }
  }

  private func addTrust(to facts: inout Facts) {
    guard selection?.isTrusted == false else { return }
    facts.add("Trust", styled: Style.notice("this file is not trusted yet: `lanyard trust` lets commands follow it"))
  }

  private func addProblem(to facts: inout Facts) {
    guard let problem else { return }
    if account == nil, let selection {
      let isOpen = if case .active = selection.reason { true } else { false }
      if isOpen, problem.name == "accountNotFound" {
        facts.add("Account", "none")
        facts.add("Next", "`lanyard \(agent.signedIn == 0 ? "login" : "switch")`")
        return
      }
      facts.add("Account", isOpen ? "the active one" : selection.selector)
      if !isOpen { facts.add("Chosen", selection.reason.choice) }
      addTrust(to: &facts)
    }
    let told = problem.inWords()
    facts.add("Problem", told.message)
    for (number, hint) in told.hints.enumerated() { facts.add(number == 0 ? "Next" : " ", hint) }
  }

  private static func stepsOfADisabled(_ account: AccountInfo) -> [String] {
    [
      "The provider has disabled this account: ask its administrator.",
      "Once it is enabled again: `lanyard login --account \(account.label)`, or wait 15 minutes.",
    ]
  }

  private static func next(_ state: String, account: AccountInfo) -> String? {
    switch state {
    case "reauthenticationRequired", "interactionRequired", "signedOut":
      "sign in again: `lanyard login --account \(account.label)`"
    default: nil
    }
  }

  /// One object with `agent`, `selection`, `account`, `session` and `problem`; all but `selection` are the agent's
  /// JSON.
  var json: String {
    var writer = JSONWriter()
    writer.beginObject()
    writer.member("agent", json: agent.json)
    if let selection {
      writer.key("selection")
      writer.beginObject()
      writer.member("account", account?.id)
      writer.member("selector", selection.selector)
      writer.member("because", selection.reason.name)
      if case .file(let path) = selection.reason { writer.member("path", path) }
      if !selection.isTrusted { writer.member("trusted", false) }
      writer.endObject()
    }
    writer.member("account", json: account?.json)
    writer.member("session", json: session?.json)
    writer.member("problem", json: problem?.wire)
    writer.endObject()
    return writer.withBytes { String(decoding: $0, as: UTF8.self) }
  }
}

extension AccountSelection.Reason {
  /// What chose the account, as it stands behind "Chosen".
  fileprivate var choice: String {
    switch self {
    case .argument: "on the command line"
    case .environment: "by LANYARD_ACCOUNT"
    case .file(let path): "by \(path)"
    case .active: "as the active account"
    }
  }

  /// Why the account is used, as a sentence.
  var sentence: String {
    switch self {
    case .argument: "you named it"
    case .environment: "LANYARD_ACCOUNT is set"
    case .file(let path): "\(path) says so"
    case .active: "it is the active account"
    }
  }
}
