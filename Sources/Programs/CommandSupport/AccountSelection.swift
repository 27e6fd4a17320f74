internal import DirectoryFiles
internal import JSONRPC
internal import Synchronization

/// Which account a command uses, and why (docs/protocol.md, Programs): the argument or option, else `LANYARD_ACCOUNT`,
/// else the nearest `.lanyard` file in this directory or above, if the person trusts it, else the active account.
public struct AccountSelection: Sendable {
  /// Where the account was named.
  public enum Reason: Sendable {
    case argument, environment
    case file(String)
    case active
  }

  /// An id, an alias or `@active`; on the command line also an e-mail address or a name.
  public let selector: String
  public let reason: Reason
  /// False for a `.lanyard` file that the person does not trust.
  public let isTrusted: Bool

  public init(_ selector: String, because reason: Reason, isTrusted: Bool = true) {
    self.selector = selector
    self.reason = reason
    self.isTrusted = isTrusted
  }

  /// The account was named on the command line.
  public var isNamed: Bool { if case .argument = reason { true } else { false } }

  /// Chooses the account. Asks the person whether to trust a `.lanyard` file, unless `asksTrust` is false: for commands
  /// that only show the choice.
  ///
  /// - Throws: a usage failure if `argument` and `option` name different accounts, or if the file is not trusted.
  public static func choose(
    argument: String?, option: String? = nil, asksTrust: Bool = true
  ) throws(CommandFailure) -> AccountSelection {
    let selection = try chosen(argument, option, asksTrust: asksTrust)
    last.withLock { $0 = selection }
    return selection
  }

  /// For a command on several accounts: a failure may be about any of them, so no hint names one as the person did.
  public static func nameNoneInHints() { last.withLock { $0 = nil } }

  /// The account that this command chose last: hints name it as the person did.
  static let last = Mutex<AccountSelection?>(nil)

  /// The account as the person named it, behind a command in a hint: ` work`; empty for the active account.
  public static var lastWord: String { lastName.map { " " + ErrorMessages.shellWord($0) } ?? "" }

  /// The name that this command chose last; nil for the active account.
  static var lastName: String? { lastNamed?.selector }

  /// As `lastName`, with where it was named.
  static var lastNamed: AccountSelection? { last.withLock { $0 }.flatMap { $0.reason.isName ? $0 : nil } }

  private static func chosen(
    _ argument: String?, _ option: String?, asksTrust: Bool
  ) throws(CommandFailure) -> AccountSelection {
    if let argument, let option, argument != option {
      throw .usage("Two accounts were named, `\(argument)` and `\(option)`. Name one.")
    }
    if let named = argument ?? option {
      guard !named.isEmpty else { throw .usage("The name of the account is empty.") }
      return AccountSelection(named, because: .argument)
    }
    if let selection = environment { return selection }
    if let file = try DirectoryFile.nearest() {
      let account = try file.namedAccount()
      if asksTrust { try file.requireTrust() }
      return AccountSelection(account, because: .file(file.path.shown), isTrusted: asksTrust || file.isTrusted)
    }
    return AccountSelection("@active", because: .active)
  }

  private static var environment: AccountSelection? {
    Environment.value("LANYARD_ACCOUNT").map { AccountSelection($0, because: .environment) }
  }

  /// The account that a program prefers where several fit a URL (docs/desktop.md, Which account): `LANYARD_ACCOUNT`, else
  /// the nearest `.lanyard` file that the person trusts. Nil for the active one. It asks the person nothing.
  ///
  /// - Throws: a failure for a file that the person trusted and that has changed, or can't be read now.
  public static func preferred() throws(CommandFailure) -> AccountSelection? {
    if let selection = environment { return selection }
    guard let file = try DirectoryFile.trustedNearest() else { return nil }
    return AccountSelection(try file.namedAccount(), because: .file(file.path.shown))
  }

  /// The failure of a preference. If the agent knows no such account, it tells where the name is from.
  public func told(_ failure: CommandFailure) -> CommandFailure {
    guard failure.name == "accountNotFound" else { return failure }
    var told = failure
    let reach = Environment.value("LANYARD_GRANT_FILE") == nil ? "" : ", or which the grant does not cover"
    told.message =
      selector.contains("@")
      ? "\(reason.text) names an account by its e-mail address, \(selector), and only an alias or an id counts there. No account was chosen."
      : "\(reason.text) names the account \(selector), which is not here\(reach). No account was chosen."
    return told
  }
}

extension AccountSelection {
  /// Asks about the account by the word that named it, which mostly is an alias or an id. Only if the agent knows no such
  /// account does it look for an e-mail address or a name, and `ask` again: an alias comes before these
  /// (`account.resolve`).
  ///
  /// - Parameter ask: a request that changes nothing if the account is unknown.
  public func asking<Answer>(
    via agent: inout AgentConnection,
    _ ask: (_ account: String, _ agent: inout AgentConnection) throws(CommandFailure) -> Answer
  ) throws(CommandFailure) -> Answer {
    do throws(CommandFailure) {
      return try ask(selector, &agent)
    } catch {
      guard error.mayBeOfAnUnknownAccount else { throw error }
      let found = try located(via: &agent)
      guard found != selector else { throw error }
      return try ask(found, &agent)
    }
  }

  /// What to send as `account`: the id for an e-mail address or a name that is unique among the accounts. Names count on
  /// the command line only: the provider chooses them, so they must not stand for an alias in a file or a program.
  public func located(via agent: inout AgentConnection) throws(CommandFailure) -> String {
    guard isNamed, !selector.hasPrefix("acc_"), !selector.hasPrefix("@") else { return selector }
    do throws(CommandFailure) {
      return try agent.call("account.resolve") { writer in
        writer.member("selector", selector)
      } result: {
        $0["account"]?.string ?? selector
      }
    } catch {
      // An unknown account is the failure of the command itself, which names it.
      guard error.name == "accountAmbiguous" else { return selector }
      throw error
    }
  }
}

extension CommandFailure {
  /// True if the agent knew no account by the word that was sent. Under a grant an unknown account is one that it does not
  /// cover; while a record does not open, the word may be its account's.
  var mayBeOfAnUnknownAccount: Bool {
    name == "accountNotFound" || name == "notPermitted" || (name == "integrity" && account == nil)
  }

  /// Names the account in the hints as the person did, instead of by its id.
  public func namingAccount() -> CommandFailure {
    guard let selection = AccountSelection.last.withLock({ $0 }), selection.reason.isName, let wire else { return self }
    var told = self
    if name == "accountNotFound", account == nil {
      told.message = "There is no account \(selection.selector) here. Nothing was changed."
    }
    // With one candidate it is about an alias that is taken.
    if name == "accountAmbiguous", candidates.count > 1 {
      told.message = "Several accounts match \(selection.selector). Nothing was changed."
    }
    guard let account, wire.contains(account) else { return told }
    return told.replacingInHints(account, by: ErrorMessages.shellWord(selection.selector))
  }
}

extension AccountSelection.Reason {
  /// False for the active account, which has no name here.
  fileprivate var isName: Bool { if case .active = self { false } else { true } }

  /// For `--json`.
  public var name: String {
    switch self {
    case .argument: "argument"
    case .environment: "environment"
    case .file: "file"
    case .active: "active"
    }
  }

  /// For people.
  public var text: String {
    switch self {
    case .argument: "named on the command line"
    case .environment: "LANYARD_ACCOUNT"
    case .file(let path): path
    case .active: "the active account"
    }
  }
}
