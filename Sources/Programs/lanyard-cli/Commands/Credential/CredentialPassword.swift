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

  @Option(help: "The user name or mail address that the account has.")
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

  /// The account of `--account`; else the only one that is known by the user name; else the usual one.
  private func chosen(via agent: inout AgentConnection) throws(CommandFailure) -> ResourceCredential {
    guard let user, common.account == nil else { return try ResourceCredential.chosen(common, via: &agent) }
    let folded = user.lowercased()
    let found = try AccountInfo.all(via: &agent).filter { account in
      account.kind == "secret" && account.state != "signedOut"
        && [account.username, account.email].contains { $0?.lowercased() == folded }
    }
    if found.count == 1 { return ResourceCredential(account: found[0].id) }
    guard found.isEmpty else {
      throw .usage(
        Text.shown("Several accounts have the user name \(user). Name one by --account."),
        hints: found.map { Text.shown($0.label) })
    }
    return try ResourceCredential.chosen(common, via: &agent)
  }
}
