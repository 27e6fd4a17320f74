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
    let asked = user ?? address.user
    if let asked { try check(asked) }
    var agent = try common.connect()
    let found = try ResourceCredential.require(address, common, via: &agent)
    let usual = try found.usualUsername(for: address, via: &agent)
    try found.token(via: &agent) { (token) throws(CommandFailure) in
      let login = token.username(asked: asked, usual: usual)
      try check(login)
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
