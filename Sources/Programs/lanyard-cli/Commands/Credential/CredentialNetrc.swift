import AgentModel
import ArgumentParser
import CommandSupport
import JSONRPC

/// `lanyard credential netrc`
struct CredentialNetrc: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "netrc",
    abstract: "A line of .netrc, for a program that reads one from a pipe.",
    discussion: """
      EXAMPLES:
        url=https://api.acme.example/
        curl --netrc-file <(lanyard credential netrc "$url") "$url"
      """)

  @Argument(help: "The URL that the token is for.")
  var url: String

  @Option(help: "The user name beside the token.")
  var user: String?

  @OptionGroup var common: CommonOptions

  func run() throws {
    let address = try ResourceAddress(typed: url)
    func check(_ login: String) throws(CommandFailure) {
      guard !login.contains(where: \.isWhitespace) else {
        throw .usage("A user name in .netrc can't contain white space.")
      }
    }
    if let login = user ?? address.user { try check(login) }
    var agent = try common.connect()
    let found = try ResourceCredential.require(address, common, via: &agent)
    let login = try found.username(for: address, asked: user ?? address.user, via: &agent)
    try check(login)
    try found.token(via: &agent) { (token) throws(CommandFailure) in
      // Behind a space another entry could begin, for another host.
      guard token.withBytes({ !$0.contains(UInt8(ascii: " ")) && $0.first != UInt8(ascii: "\"") }) else {
        throw CommandFailure(
          .other, name: "refused",
          "A secret with a space, or with a quotation mark at its beginning, can't stand in .netrc. Nothing was printed."
        )
      }
      var answer = JSONWriter()
      answer.text("machine \(address.url.host) login \(login) password ")
      answer.text(token)
      answer.text("\n")
      try answer.answer()
    }
  }
}
