/// Which account a command uses, and why (docs/protocol.md, Programs): the argument or option, else `LANYARD_ACCOUNT`,
/// else the nearest `.lanyard` file in this directory or above, else the active account.
public struct AccountSelection: Sendable {
  /// Where the account was named.
  public enum Reason: Sendable {
    case argument, environment
    case file(String)
    case active
  }

  /// An id, an alias or `@active`.
  public let selector: String
  public let reason: Reason

  public init(_ selector: String, because reason: Reason) {
    self.selector = selector
    self.reason = reason
  }

  /// Chooses the account.
  ///
  /// - Throws: a usage failure if `argument` and `option` name different accounts.
  public static func choose(argument: String?, option: String? = nil) throws(CommandFailure) -> AccountSelection {
    if let argument, let option, argument != option {
      throw .usage("Two accounts were named, `\(argument)` and `\(option)`. Name one.")
    }
    if let named = argument ?? option {
      guard !named.isEmpty else { throw .usage("The name of the account is empty.") }
      return AccountSelection(named, because: .argument)
    }
    if let named = Environment.value("LANYARD_ACCOUNT") { return AccountSelection(named, because: .environment) }
    if let file = try DirectoryFile.nearest() { return AccountSelection(file.account, because: .file(file.path)) }
    return AccountSelection("@active", because: .active)
  }
}

extension AccountSelection.Reason {
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
