import ArgumentParser
import CommandSupport
import JSONRPC

/// `lanyard credential password`: the secret alone, for mail programs with app passwords.
struct CredentialPassword: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "password",
    abstract: "The key or password of an account, alone.",
    discussion: """
      EXAMPLES, in the configuration of mbsync and msmtp:
        PassCmd "lanyard credential password --user alice@acme.example"
        passwordeval "lanyard credential password -u mail"
      """)

  @Option(help: "The user name or mail address that the account has. No account of another name is used.")
  var user: String?

  @OptionGroup var common: CommonOptions

  func run() throws {
    var agent = try common.connect()
    let found = try chosen(via: &agent)
    try found.token(via: &agent) { (token) throws(CommandFailure) in
      guard token.isSecret else {
        throw CommandFailure(
          .other, name: "noSecret", "This account holds no key and no password. Nothing was printed.",
          hints: ["For mail with OAuth: `lanyard credential xoauth2 --user MAILBOX`."])
      }
      var answer = JSONWriter()
      answer.text(token)
      answer.text("\n")
      try answer.answer()
    }
  }

  /// The account of `--account`; else the only one that is known by the user name, signed out or not. One without a known name
  /// counts where `LANYARD_ACCOUNT` or a `.lanyard` file names it.
  ///
  /// - Throws: where it would be the secret of another person.
  private func chosen(via agent: inout AgentConnection) throws(CommandFailure) -> ResourceCredential {
    guard let user, common.account == nil else { return try ResourceCredential.chosen(common, via: &agent) }
    let accounts = try AccountInfo.all(via: &agent).filter { $0.kind == "secret" }
    // A grant may tell of accounts and not of providers.
    let providers = accounts.contains { $0.username == nil } ? (try? ProviderInfo.all(via: &agent)) ?? [] : []
    func names(of account: AccountInfo) -> [String] {
      let username = account.username ?? providers.first { $0.name == account.provider }?.username
      return [username, account.email].compactMap { $0?.lowercased() }
    }
    let found = accounts.filter { names(of: $0).contains(user.lowercased()) }
    if found.count == 1 { return ResourceCredential(account: found[0].id) }
    guard found.isEmpty else {
      throw .usage(
        Text.shown("Several accounts have the user name \(user). Name one by --account."),
        hints: found.map { Text.shown($0.label) })
    }
    let selection = try AccountSelection.choose(argument: nil)
    if case .active = selection.reason { throw unknown(user) }
    let named = try AccountInfo.named(selection.selector, via: &agent)
    guard names(of: named).isEmpty || named.kind != "secret" else { throw unknown(user) }
    return ResourceCredential(account: named.id)
  }

  private func unknown(_ user: String) -> CommandFailure {
    CommandFailure(
      .other, name: "notFound",
      Text.shown("No account with a key or a password has the user name \(user). Nothing was printed."),
      hints: ["`lanyard list` shows the accounts. Name one by --account."])
  }
}
