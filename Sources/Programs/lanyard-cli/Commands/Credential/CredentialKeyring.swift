import ArgumentParser
import CommandSupport
import JSONRPC

/// `lanyard credential keyring`: the command line of Python's keyring, as pip, uv and twine call it.
struct CredentialKeyring: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "keyring",
    abstract: "The command `keyring`, as pip, uv and twine call it.",
    discussion: """
      They look for a program named keyring: a link to lanyard under this name will do. Python programs that import \
      keyring use the backend of the Python client.

      EXAMPLES:
        pip config set global.keyring-provider subprocess
        export UV_KEYRING_PROVIDER=subprocess
        uv pip install --index-url https://oauth2@pypi.example/simple acme
      """)

  @Argument(help: "What the tool asks for: get.")
  var operation: String

  @Argument(help: "The URL of the index.")
  var service: String?

  @Argument(help: "The user name that the tool knows.")
  var user: String?

  @Option(help: "`creds` prints the user name on a line before the password.")
  var mode: String = "password"

  @Option(help: "`json` prints an object with password, and with username for the mode creds.")
  var output: String = "plain"

  @OptionGroup var common: CommonOptions

  func validate() throws {
    guard output == "plain" || output == "json" else { throw ValidationError("The output is plain or json.") }
    guard mode == "password" || mode == "creds" else { throw ValidationError("The mode is password or creds.") }
  }

  func run() throws {
    guard operation == "get" else {
      throw CommandFailure(
        .other, name: "refused", "Lanyard keeps no passwords of other programs. Nothing was changed.",
        hints: ["Sign in by `lanyard login`, and choose the account by `lanyard rule add URL ACCOUNT`."])
    }
    guard let service, !service.isEmpty else { throw CommandFailure.usage("The URL is missing.") }
    // A host alone gets nothing: pip asks for it also where the index is reached without TLS.
    guard let address = ResourceAddress(whole: service) else { throw OtherAnswer(status: .other) }
    var agent = try common.connect()
    guard let found = try ResourceCredential.find(address, user: user, named: common.account, via: &agent) else {
      // As keyring itself: nothing on any stream.
      throw OtherAnswer(status: .other)
    }
    let usual = mode == "creds" ? try found.usualUsername(for: address, via: &agent) : nil
    try found.token(via: &agent) { (token) throws(CommandFailure) in
      let name = usual.map { token.username(asked: user, usual: $0) }
      var answer = JSONWriter()
      if output == "json" {
        answer.beginObject()
        answer.member("username", name)
        answer.member("password", "", token)
        answer.endObject()
      } else {
        if let name { answer.text("\(name)\n") }
        answer.text(token)
      }
      answer.text("\n")
      try answer.answer()
    }
  }
}
